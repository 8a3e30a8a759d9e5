// SPDX-License-Identifier: MIT OR Apache-2.0
// tessera-lifecycle-host PLUGIN SPEC: uses a plug-in that opens a device, unloads it, goes on for a
// moment (threads of the device would run into code that is gone), loads it again and ends.
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <thread>

namespace {

bool use(const char* path, const char* spec) {
  void* plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return false;
  }
  const auto f = reinterpret_cast<void (*)(const char*)>(dlsym(plugin, "tessera_lifecycle_use"));
  if (f != nullptr) f(spec);
  dlclose(plugin);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return f != nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return use(argv[1], argv[2]) && use(argv[1], argv[2]) ? 0 : 1;
}
