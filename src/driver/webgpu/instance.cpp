// SPDX-License-Identifier: MIT OR Apache-2.0
#include "driver/webgpu/instance.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>

#include "base/process.hpp"

namespace tessera::driver {
namespace {

std::mutex environment_mutex;

// Sets a variable and puts the old value back.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~ScopedVariable() {
    if (old_) {
      setenv(name_, old_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

void split(const std::string& list, std::vector<std::string>& out) {
  std::size_t at = 0;
  while (at <= list.size()) {
    const std::size_t colon = std::min(list.find(':', at), list.size());
    if (colon > at) out.push_back(list.substr(at, colon - at));
    at = colon + 1;
  }
}

void add_folder(const std::string& folder, std::vector<std::string>& out) {
  std::error_code failed;
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    if (entry.path().extension() == ".json") found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  out.insert(out.end(), found.begin(), found.end());
}

struct AdapterAnswer {
  wg::Adapter adapter = nullptr;
  std::string message;
};

void take_adapter(std::uint32_t status, wg::Adapter adapter, wg::StringView message, void* user,
                  void*) {
  auto* answer = static_cast<AdapterAnswer*>(user);
  if (status == wg::status_success) answer->adapter = adapter;
  answer->message = wg::text(message);
}

DeviceKind kind_of(std::uint32_t type, const std::string& name) {
  if (type == wg::adapter_cpu || name.find("llvmpipe") != std::string::npos ||
      name.find("SwiftShader") != std::string::npos) {
    return DeviceKind::software;
  }
  if (type == wg::adapter_discrete) return DeviceKind::discrete;
  return type == wg::adapter_integrated ? DeviceKind::integrated : DeviceKind::virtual_gpu;
}

}  // namespace

Status usable_in_this_process() {
  constexpr std::int64_t unused = -1;
  static constinit std::atomic<std::int64_t> used_by{unused};
  const std::int64_t us = base::process_generation();
  std::int64_t first = unused;
  if (used_by.compare_exchange_strong(first, us) || first == us) return {};
  return Error(ErrorKind::BackendUnavailable,
               "WebGPU was used before this process was forked, and its library does not survive a "
               "fork. Start the child as a program of its own, or fork before opening a device.");
}

void guard_exit() {
  static const std::uint32_t parent = base::process_generation();
  (void)on_exit(
      [](int code, void*) {
        if (base::process_generation() == parent && !InFlight::any()) return;
        (void)std::fflush(nullptr);
        _exit(code);
      },
      nullptr);
}

std::vector<std::string> find_manifests(const WebgpuOptions& options) {
  std::vector<std::string> found;
  if (!options.vulkan_drivers.empty()) {
    split(options.vulkan_drivers, found);
    return found;
  }
  for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') {
      split(value, found);
      return found;
    }
  }
  for (const char* folder :
       {"/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/share/vulkan/icd.d"}) {
    add_folder(folder, found);
  }
  if (const std::string deps = wg::find_deps(); !deps.empty()) {
    add_folder(deps + "/vulkan/icd.d", found);
  }
  return found;
}

Result<OpenAdapter> request_adapter(const wg::Api& api, const std::string& manifest) {
  // Instances are kept: making one costs a Vulkan instance, and devices hold on to theirs.
  static auto* const instances = new std::map<std::string, wg::Instance>;
  const std::lock_guard lock(environment_mutex);
  const ScopedVariable files("VK_DRIVER_FILES", manifest);
  const ScopedVariable names("VK_ICD_FILENAMES", manifest);
  wg::Instance& instance = (*instances)[manifest];
  if (instance == nullptr) {
    wg::InstanceDescriptor descriptor;
    descriptor.features.timed_wait_any = 1;
    descriptor.features.timed_wait_any_max = 64;
    instance = api.CreateInstance(&descriptor);
    if (instance == nullptr) {
      return Error(ErrorKind::BackendUnavailable, "The WebGPU library made no instance.");
    }
  }
  AdapterAnswer answer;
  wg::RequestAdapterOptions options;
  wg::FutureWaitInfo wait{
      api.InstanceRequestAdapter(instance, &options,
                                 {nullptr, wg::mode_wait_any_only, take_adapter, &answer, nullptr}),
      0};
  api.InstanceWaitAny(instance, 1, &wait, 10'000'000'000ull);
  if (answer.adapter == nullptr) {
    std::string why = answer.message;
    std::replace(why.begin(), why.end(), '\n', ' ');
    return Error(ErrorKind::BackendUnavailable,
                 why.empty() ? "the WebGPU library accepts no device of this driver" : why);
  }
  return OpenAdapter{instance, answer.adapter};
}

Result<std::vector<AdapterInfo>> list_adapters(const WebgpuOptions& options) {
  if (Status usable = usable_in_this_process(); !usable) return usable.error();
  Result<const wg::Api*> api = wg::open_api(options.library);
  if (!api) return api.error();
  const std::vector<std::string> manifests = find_manifests(options);
  if (manifests.empty()) {
    return Error(ErrorKind::BackendUnavailable,
                 "No Vulkan driver is installed: there is no driver manifest in the system's "
                 "folders, in .deps/vulkan, or in VK_DRIVER_FILES. ./dev setup brings two software "
                 "drivers.");
  }
  std::vector<AdapterInfo> adapters;
  for (const std::string& manifest : manifests) {
    AdapterInfo info;
    info.manifest = manifest;
    Result<OpenAdapter> open = request_adapter(**api, manifest);
    if (!open) {
      info.name = std::filesystem::path(manifest).filename().string();
      info.unusable = open.error().message();
      adapters.push_back(std::move(info));
      continue;
    }
    wg::AdapterInfoStruct raw;
    (*api)->AdapterGetInfo(open->adapter, &raw);
    info.name = wg::text(raw.device);
    info.detail = wg::text(raw.description);
    info.kind = kind_of(raw.type, info.name);
    info.vendor = raw.vendor_id;
    info.device = raw.device_id;
    (*api)->AdapterInfoFreeMembers(raw);
    (*api)->AdapterRelease(open->adapter);
    // One adapter of a kind of driver is enough where it is installed twice.
    const bool twice = std::any_of(adapters.begin(), adapters.end(), [&](const AdapterInfo& a) {
      return a.unusable.empty() && a.name == info.name && a.detail == info.detail;
    });
    if (!twice) adapters.push_back(std::move(info));
  }
  static const bool guarded = (guard_exit(), true);
  (void)guarded;
  return adapters;
}

}  // namespace tessera::driver
