// SPDX-License-Identifier: MIT OR Apache-2.0
#include "client/device_registry.hpp"

#include <cstdlib>
#include <map>
#include <mutex>

namespace tessera::client {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<detail::DeviceCore>> devices;
};

// Never destroyed: static destructors of the program may still hold buffers.
Registry& registry() {
  static Registry* const r = new Registry;
  return *r;
}

void close_all() {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  for (auto& [key, device] : r.devices) device->close();
}

}  // namespace

std::shared_ptr<detail::DeviceCore> find_device(const std::string& key) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const auto it = r.devices.find(key);
  return it == r.devices.end() ? nullptr : it->second;
}

std::shared_ptr<detail::DeviceCore> keep_device(const std::string& key,
                                                std::shared_ptr<detail::DeviceCore> device) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  static const int handler = std::atexit(close_all);
  (void)handler;
  return r.devices.try_emplace(key, std::move(device)).first->second;
}

}  // namespace tessera::client
