// SPDX-License-Identifier: MIT OR Apache-2.0
#include "driver/driver.hpp"

namespace tessera::driver {

std::string_view to_string(DeviceKind kind) noexcept {
  switch (kind) {
    case DeviceKind::discrete:
      return "discrete GPU";
    case DeviceKind::integrated:
      return "integrated GPU";
    case DeviceKind::virtual_gpu:
      return "virtual GPU";
    case DeviceKind::software:
      return "software GPU";
    case DeviceKind::cpu:
      return "CPU";
    case DeviceKind::simulator:
      return "simulator";
  }
  return "unknown";
}

}  // namespace tessera::driver
