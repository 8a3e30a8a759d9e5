// SPDX-License-Identifier: MIT OR Apache-2.0
// The hardware devices that are open in this process.
#pragma once

#include <memory>
#include <string>

#include "client/device_core.hpp"

namespace tessera::client {

/// The open device of this key, or null.
std::shared_ptr<detail::DeviceCore> find_device(const std::string& key);

/// Keeps a device open until the process ends: destroying a GPU context while other threads or
/// static destructors still use it is where programs hang. An exit handler ends its threads; later
/// drops of buffers are no-ops then, later calls are DeviceLost. Returns the one that was there
/// first.
std::shared_ptr<detail::DeviceCore> keep_device(const std::string& key,
                                                std::shared_ptr<detail::DeviceCore> device);

}  // namespace tessera::client
