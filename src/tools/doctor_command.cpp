// SPDX-License-Identifier: MIT OR Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/config.hpp"
#include "driver/webgpu/api.hpp"
#include "driver/webgpu/instance.hpp"
#include "tessera/device.hpp"
#include "tessera/kernel.hpp"
#include "tessera/launch.hpp"
#include "tools/commands.hpp"
#include "tools/exit_codes.hpp"

namespace tessera::tools {
namespace {

struct Finding {
  std::string what;
  bool good = false;
  std::string detail;
  std::string mend;  // what to do about it; empty where good
};

void twice(In<u32> x, Out<u32> y) {
  TESSERA_IF(absolute_pos < x.len()) {
    y[absolute_pos] = x[absolute_pos] * 2;
  }
}

Finding try_device(const DeviceInfo& info) {
  Finding f{fmt::format("device {}", info.spec), false, info.name, ""};
  if (!info.unusable.empty()) {
    f.detail += ": " + info.unusable;
    f.mend = "see the lines above, or install a newer driver";
    return f;
  }
  const Result<Device> device = open(info.spec);
  if (!device) {
    f.detail = device.error().message();
    f.mend = "update the driver of this adapter";
    return f;
  }
  std::vector<u32> in(1000);
  for (u32 i = 0; i < 1000; ++i) in[i] = i;
  const Buffer<u32> x = device->upload(in), y = device->full<u32>(1000, 0xdeadbeefu);
  launch<twice>(*device, Grid::over(1000), x, y);
  const Result<std::vector<u32>> out = y.to_vector();
  if (!out) {
    f.detail += ": " + out.error().root().message();
    f.mend = "report this with the output of tessera doctor --json";
    return f;
  }
  f.good = true;
  for (u32 i = 0; i < 1000; ++i) f.good = f.good && (*out)[i] == 2 * i;
  if (!f.good) {
    f.detail += ": a kernel gave wrong numbers";
    f.mend = "do not trust this device; update its driver";
  }
  return f;
}

std::vector<Finding> examine() {
  std::vector<Finding> out;
  const Result<base::Config> config = base::load_config({});
  out.push_back(
      {"configuration", config.has_value(),
       config ? fmt::format("{} warnings", config->warnings().size()) : config.error().message(),
       config ? "" : "correct the value that the sentence names"});
  if (!config) return out;
  driver::WebgpuOptions options{config->text("webgpu.library"), config->text("vulkan.drivers")};
  const Result<const wg::Api*> api = wg::open_api(options.library);
  out.push_back({"WebGPU library", api.has_value(), api ? (*api)->path : api.error().message(),
                 api ? "" : "run ./dev setup, or name a library with TESSERA_WEBGPU_LIBRARY"});
  const std::vector<std::string> manifests = driver::find_manifests(options);
  out.push_back(
      {"Vulkan drivers", !manifests.empty(),
       fmt::format("{} manifests: {}", manifests.size(), fmt::join(manifests, ", ")),
       manifests.empty() ? "install a GPU driver, or run ./dev setup for software ones" : ""});
  for (const DeviceInfo& info : devices()) out.push_back(try_device(info));
  return out;
}

}  // namespace

int run_doctor(bool json) {
  const std::vector<Finding> findings = examine();
  bool device_works = false;
  nlohmann::json list = nlohmann::json::array();
  for (const Finding& f : findings) {
    device_works = device_works || (f.good && f.what.starts_with("device"));
    if (json) {
      list.push_back({{"what", f.what}, {"good", f.good}, {"detail", f.detail}, {"mend", f.mend}});
    } else {
      fmt::print("{:<4} {:<18} {}\n", f.good ? "ok" : "BAD", f.what, f.detail);
      if (!f.mend.empty()) fmt::print("     -> {}\n", f.mend);
    }
  }
  if (json)
    fmt::print("{}\n", nlohmann::json{{"schema", "tessera.doctor/1"}, {"findings", list}}.dump(2));
  return device_works ? exit_ok : exit_nothing_usable;
}

}  // namespace tessera::tools
