// SPDX-License-Identifier: MIT OR Apache-2.0
#include "driver/webgpu/api.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace tessera::wg {
namespace {

constexpr const char* file_name = "libwebgpu_wrapper.so";

Result<std::unique_ptr<Api>> load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return Error(ErrorKind::BackendUnavailable, why != nullptr ? why : "unknown reason");
  }
  auto api = std::make_unique<Api>();
  api->path = path;
  std::string missing;
  const auto symbol = [&](const char* name) {
    void* found = dlsym(library, name);
    if (found == nullptr && missing.empty()) missing = name;
    return found;
  };
#define TESSERA_LOAD(name, result, parameters) \
  api->name = reinterpret_cast<result(*) parameters>(symbol("wgpu" #name));
  TESSERA_WEBGPU_FUNCTIONS(TESSERA_LOAD)
#undef TESSERA_LOAD
  // The instance descriptor changed its layout together with this pair of functions.
  if (missing.empty() && dlsym(library, "wgpuGetInstanceCapabilities") == nullptr) {
    missing = "wgpuGetInstanceCapabilities";
  }
  if (!missing.empty()) {
    dlclose(library);
    return Error(ErrorKind::BackendUnavailable, fmt::format("it has no {}", missing));
  }
  return api;
}

}  // namespace

std::string find_deps() {
  namespace fs = std::filesystem;
  std::error_code failed;
  fs::path folder = fs::read_symlink("/proc/self/exe", failed).parent_path();
  if (failed) return "";
  while (!folder.empty()) {
    std::error_code absent;
    if (fs::is_directory(folder / ".deps", absent)) return (folder / ".deps").string();
    if (folder == folder.parent_path()) break;
    folder = folder.parent_path();
  }
  return "";
}

Result<const Api*> open_api(const std::string& path) {
  static std::mutex mutex;
  static auto* const opened = new std::map<std::string, std::unique_ptr<Api>>;
  const std::lock_guard lock(mutex);
  if (const auto it = opened->find(path); it != opened->end()) return it->second.get();

  std::vector<std::string> candidates;
  if (!path.empty()) {
    candidates.push_back(path);
  } else {
    if (const std::string deps = find_deps(); !deps.empty()) {
      candidates.push_back(deps + "/webgpu/" + file_name);
    }
    candidates.emplace_back(file_name);
  }
  std::string tried;
  for (const std::string& candidate : candidates) {
    Result<std::unique_ptr<Api>> api = load(candidate);
    if (api) return (*opened)[path] = *std::move(api), (*opened)[path].get();
    tried += fmt::format("{}{} ({})", tried.empty() ? "" : "; ", candidate, api.error().message());
  }
  return Error(ErrorKind::BackendUnavailable,
               fmt::format("No WebGPU library could be opened. Tried: {}. ./dev setup brings one; "
                           "TESSERA_WEBGPU_LIBRARY names another.",
                           tried));
}

std::string text(StringView view) {
  if (view.data == nullptr) return "";
  return view.length == ~std::size_t{0} ? std::string(view.data)
                                        : std::string(view.data, view.length);
}

}  // namespace tessera::wg
