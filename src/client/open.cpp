// SPDX-License-Identifier: MIT OR Apache-2.0
// devices() and open().
#include <fmt/format.h>

#include <algorithm>

#include "base/config.hpp"
#include "client/device_registry.hpp"
#include "client/device_spec.hpp"
#include "driver/sim/sim.hpp"
#include "driver/webgpu/webgpu.hpp"
#include "tessera/device.hpp"

namespace tessera::inline v0 {
namespace {

using client::DeviceFamily;
using client::DeviceSpec;
using detail::DeviceCore;

struct Setup {
  detail::CoreConfig core;
  driver::WebgpuOptions webgpu;
  std::string default_device;
};

MemoryLayout memory_layout(std::string_view name) {
  if (name == "sub_slices") return MemoryLayout::sub_slices();
  if (name == "exclusive_pages") return MemoryLayout::exclusive_pages();
  return MemoryLayout::adaptive();
}

server::PersistentPolicy persistent_policy(std::string_view name) {
  if (name == "disabled") return server::PersistentPolicy::disabled;
  if (name == "enforced") return server::PersistentPolicy::enforced;
  return server::PersistentPolicy::windows;
}

Result<Setup> setup(const Options& options) {
  Result<base::Config> config = base::load_config({.ignore_environment = options.ignore_env});
  if (!config) return config.error();
  Setup s;
  s.core.server.max_streams = static_cast<std::uint32_t>(config->number("streams.max"));
  // Code comes between the environment and the file.
  if (options.max_streams != 0 && !config->from_environment("streams.max")) {
    if (options.max_streams > 128) {
      return Error(ErrorKind::InvalidArgument,
                   fmt::format("max_streams is {}; it can be 1 to 128.", options.max_streams));
    }
    s.core.server.max_streams = options.max_streams;
  }
  s.core.server.submit_every = static_cast<std::uint32_t>(config->number("launch.submit_every"));
  s.core.server.layout = memory_layout(config->text("memory.layout"));
  s.core.server.guard = config->text("memory.guard") == "on";
  s.core.server.persistent = persistent_policy(config->text("memory.persistent"));
  s.core.executor.ring_cells = static_cast<std::size_t>(config->number("executor.ring_cells"));
  if (const std::int64_t hang = config->number("device.hang_seconds"); hang > 0) {
    s.core.executor.hang_after = std::chrono::seconds(hang);
  }
  s.core.per_thread_streams = config->text("streams.default") == "thread";
  if (!config->from_environment("streams.default") && options.per_thread_streams) {
    s.core.per_thread_streams = true;
  }
  s.core.compile_threads = static_cast<unsigned>(config->number("compile.threads"));
  s.webgpu.library = config->text("webgpu.library");
  s.webgpu.vulkan_drivers = config->text("vulkan.drivers");
  s.default_device = config->text("device.default");
  return s;
}

std::shared_ptr<DeviceCore> make_core(std::unique_ptr<driver::Driver> driver, const Setup& s) {
  return std::make_shared<DeviceCore>(std::move(driver), s.core);
}

Result<Device> open_webgpu(const Setup& s, std::optional<std::uint32_t> index,
                           std::string_view name) {
  Result<std::vector<driver::AdapterInfo>> adapters = driver::list_adapters(s.webgpu);
  if (!adapters) return adapters.error();
  Result<std::size_t> chosen = driver::select_adapter(*adapters, index, name);
  if (!chosen) return chosen.error();
  const std::string key = fmt::format("webgpu:{}", *chosen);
  if (auto open = client::find_device(key)) return Device(std::move(open));
  Result<std::unique_ptr<driver::Driver>> driver =
      driver::open_webgpu(s.webgpu, (*adapters)[*chosen]);
  if (!driver) return driver.error();
  return Device(client::keep_device(key, make_core(*std::move(driver), s)));
}

Result<Device> open_cpu(const Setup& s) {
  if (auto open = client::find_device("cpu")) return Device(std::move(open));
  driver::SimOptions options;
  options.instant = true;
  options.queues = 1;
  options.memory_limit = std::uint64_t{1} << 36;
  return Device(client::keep_device("cpu", make_core(driver::make_sim(options), s)));
}

bool real(const driver::AdapterInfo& a) {
  return a.unusable.empty() && a.kind != driver::DeviceKind::software;
}

// Real GPU, then software GPU, then the interpreter.
Result<Device> open_automatic(const Setup& s) {
  if (Result<Device> gpu = open_webgpu(s, std::nullopt, ""); gpu) return gpu;
  return open_cpu(s);
}

Result<Device> open_gpu(const Setup& s) {
  Result<std::vector<driver::AdapterInfo>> adapters = driver::list_adapters(s.webgpu);
  if (!adapters) return adapters.error();
  if (std::none_of(adapters->begin(), adapters->end(), real)) {
    return Error(ErrorKind::BackendUnavailable,
                 fmt::format("No GPU was found; WebGPU offers software adapters alone ({}). Open "
                             "\"webgpu\" to use one.",
                             adapters->empty() ? "none" : adapters->front().name));
  }
  return open_webgpu(s, std::nullopt, "");
}

}  // namespace

Result<Device> open(std::string_view text, const Options& options) {
  const client::Opening opening;
  if (opening.refused()) return *opening.refused();
  Result<Setup> s = setup(options);
  if (!s) return s.error();
  Result<DeviceSpec> spec = client::parse_device_spec(text);
  if (!spec) return spec.error();
  if (spec->family == DeviceFamily::automatic && s->default_device != "auto") {
    spec = client::parse_device_spec(s->default_device);
    if (!spec) return spec.error().with_context("reading the configuration key device.default");
  }
  switch (spec->family) {
    case DeviceFamily::webgpu:
      return open_webgpu(*s, spec->index, spec->name);
    case DeviceFamily::gpu:
      return open_gpu(*s);
    case DeviceFamily::cpu:
      return open_cpu(*s);
    case DeviceFamily::sim: {
      driver::SimOptions sim;
      sim.seed = spec->seed;
      sim.queues = spec->queues;
      return Device(make_core(driver::make_sim(sim), *s));
    }
    case DeviceFamily::automatic:
      break;
  }
  return open_automatic(*s);
}

std::vector<DeviceInfo> devices() {
  std::vector<DeviceInfo> found;
  const auto from = [](const driver::AdapterInfo& a, std::size_t i) {
    return DeviceInfo{fmt::format("webgpu:{}", i),
                      "webgpu",
                      a.name,
                      std::string(driver::to_string(a.kind)),
                      a.detail,
                      a.unusable};
  };
  const client::Opening opening;
  Result<Setup> s = opening.refused() ? Result<Setup>(*opening.refused()) : setup({});
  if (s) {
    Result<std::vector<driver::AdapterInfo>> adapters = driver::list_adapters(s->webgpu);
    if (adapters) {
      for (const std::size_t i : driver::rank_adapters(*adapters)) {
        found.push_back(from((*adapters)[i], i));
      }
      for (std::size_t i = 0; i < adapters->size(); ++i) {
        if (!(*adapters)[i].unusable.empty()) found.push_back(from((*adapters)[i], i));
      }
    } else {
      found.push_back({"webgpu", "webgpu", "", "", "", adapters.error().message()});
    }
  } else {
    found.push_back({"webgpu", "webgpu", "", "", "", s.error().message()});
  }
  found.push_back({"cpu", "cpu", "CPU (interpreter)", "cpu",
                   "answers for the CPU until a compiling driver is there", ""});
  return found;
}

}  // namespace tessera::inline v0
