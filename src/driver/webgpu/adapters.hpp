// SPDX-License-Identifier: MIT OR Apache-2.0
// Which adapter to take: plain data and pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/driver.hpp"

namespace tessera::driver {

struct AdapterInfo {
  std::string name;
  DeviceKind kind = DeviceKind::software;
  std::string detail;    // driver and version
  std::string manifest;  // the Vulkan driver manifest that it came from; empty: any
  std::uint32_t vendor = 0, device = 0;
  std::string unusable;  // empty, or why it cannot be used
};

/// Positions of the usable adapters, best first: discrete, integrated, virtual, software; in list
/// order within a kind. So a software adapter comes first only where nothing else is.
std::vector<std::size_t> rank_adapters(const std::vector<AdapterInfo>& adapters);

/// The position that is asked for: by index, by a part of the name (any case), or the best.
/// BackendUnavailable for an empty list; InvalidArgument, with the names, for what is not there.
Result<std::size_t> select_adapter(const std::vector<AdapterInfo>& adapters,
                                   std::optional<std::uint32_t> index, std::string_view name);

}  // namespace tessera::driver
