// SPDX-License-Identifier: MIT OR Apache-2.0
// The text that names a device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tessera/result.hpp"

namespace tessera::client {

enum class DeviceFamily : std::uint8_t { automatic, gpu, webgpu, cpu, sim };

/// "auto" | "gpu" | "webgpu" | "webgpu:2" | "webgpu:name=TEXT" | "cpu" | "sim" | "sim:seed=N" |
/// "sim:seed=N,queues=N"
struct DeviceSpec {
  DeviceFamily family = DeviceFamily::automatic;
  std::optional<std::uint32_t> index;
  std::string name;  // part of the adapter's name, any case; empty: any
  std::uint64_t seed = 0;
  std::uint32_t queues = 4;
  friend bool operator==(const DeviceSpec&, const DeviceSpec&) = default;
};

/// InvalidArgument says what was not understood and what is.
Result<DeviceSpec> parse_device_spec(std::string_view text);

}  // namespace tessera::client
