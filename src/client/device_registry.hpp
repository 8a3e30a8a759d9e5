// SPDX-License-Identifier: MIT OR Apache-2.0
// The hardware devices that are open in this process, and how they end with it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "client/device_core.hpp"

namespace tessera::client {

/// How long the end of the process may wait for all devices together.
inline constexpr std::chrono::milliseconds exit_patience{2000};

/// The open device of this key, or null.
std::shared_ptr<detail::DeviceCore> find_device(const std::string& key);

/// Keeps a device open until the process ends: destroying a GPU context while other threads or
/// static destructors still use it is where programs hang. An exit handler ends its threads; later
/// drops of buffers are no-ops then, later calls are DeviceLost. Returns the one that was there
/// first.
std::shared_ptr<detail::DeviceCore> keep_device(const std::string& key,
                                                std::shared_ptr<detail::DeviceCore> device);

/// Held while adapters are listed or a device is opened: the end of the process waits for it, and
/// none is begun afterwards.
class Opening {
 public:
  Opening();
  ~Opening();
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;
  /// DeviceLost where the process is ending.
  const std::optional<Error>& refused() const noexcept { return refused_; }

 private:
  std::optional<Error> refused_;
};

}  // namespace tessera::client
