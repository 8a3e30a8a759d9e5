// SPDX-License-Identifier: MIT OR Apache-2.0
#include "client/device_registry.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "base/process.hpp"

namespace tessera::client {
namespace {

using detail::DeviceCore;

struct Registry {
  const std::uint32_t generation = base::process_generation();
  Registry* const of_parent;  // its devices are not ours; only kept from being a leak
  std::mutex mutex;
  std::condition_variable opened;
  std::map<std::string, std::shared_ptr<DeviceCore>> devices;
  // Devices that nobody may use any more and whose threads did not end.
  std::vector<std::shared_ptr<DeviceCore>> left;
  int opening = 0;
  bool ending = false;

  explicit Registry(Registry* parent) : of_parent(parent) {}
};

constinit std::atomic<Registry*> current{nullptr};

// Never destroyed: static destructors of the program may still hold buffers. A forked child begins
// with an empty one of its own. No lock is taken to get it: one could be held by a thread that the
// child does not have.
Registry& registry() {
  Registry* r = current.load(std::memory_order_acquire);
  while (r == nullptr || r->generation != base::process_generation()) {
    auto fresh = std::make_unique<Registry>(r);
    if (current.compare_exchange_strong(r, fresh.get(), std::memory_order_acq_rel)) {
      return *fresh.release();
    }
  }
  return *r;
}

// At exit, on whatever thread called it. Handlers and destructors of other libraries, the device's
// own among them, run after it: so no thread of ours and no client may be inside a device when it
// returns. What does not end in time is left running; nothing of it is ever freed.
void close_all() {
  Registry& r = registry();
  const auto latest = std::chrono::steady_clock::now() + exit_patience;
  std::vector<std::shared_ptr<DeviceCore>> devices;
  {
    std::unique_lock lock(r.mutex);
    if (r.ending) return;
    r.ending = true;
    for (auto& [key, device] : r.devices) devices.push_back(device);
    for (auto& device : devices) device->begin_close(latest);
    r.opened.wait_until(lock, latest, [&] { return r.opening == 0; });
  }
  for (auto& device : devices) (void)device->finish_close(latest);
}

}  // namespace

std::shared_ptr<DeviceCore> find_device(const std::string& key) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const auto it = r.devices.find(key);
  return it == r.devices.end() ? nullptr : it->second;
}

std::shared_ptr<DeviceCore> keep_device(const std::string& key,
                                        std::shared_ptr<DeviceCore> device) {
  Registry& r = registry();
  base::pin_library();
  // Once for each device: opening it may have loaded libraries with handlers of their own, and ours
  // must run before those. The first one to run closes all devices.
  (void)std::atexit(close_all);
  const std::lock_guard lock(r.mutex);
  if (r.ending) {
    device->begin_close(std::chrono::steady_clock::now());
    r.left.push_back(device);
    return device;
  }
  return r.devices.try_emplace(key, std::move(device)).first->second;
}

Opening::Opening() {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  if (r.ending) {
    refused_ = Error(ErrorKind::DeviceLost, "No device can be opened: the process is ending.");
  } else {
    ++r.opening;
  }
}

Opening::~Opening() {
  if (refused_) return;
  // Now that the libraries are loaded, which is when most of them register handlers. An exit while
  // another thread opens a WebGPU device is not covered: what the Vulkan drivers register meanwhile
  // runs before ours.
  static const int registered = std::atexit(close_all);
  (void)registered;
  Registry& r = registry();
  {
    const std::lock_guard lock(r.mutex);
    --r.opening;
  }
  r.opened.notify_all();
}

}  // namespace tessera::client
