// SPDX-License-Identifier: MIT OR Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tessera/device.hpp"
#include "tools/commands.hpp"
#include "tools/exit_codes.hpp"

namespace tessera::tools {

int run_devices(bool json) {
  const std::vector<DeviceInfo> found = devices();
  const bool usable = std::any_of(found.begin(), found.end(),
                                  [](const DeviceInfo& d) { return d.unusable.empty(); });
  if (json) {
    nlohmann::json list = nlohmann::json::array();
    for (const DeviceInfo& d : found) {
      list.push_back({{"spec", d.spec},
                      {"driver", d.driver},
                      {"name", d.name},
                      {"kind", d.kind},
                      {"detail", d.detail},
                      {"unusable", d.unusable}});
    }
    fmt::print("{}\n", nlohmann::json{{"schema", "tessera.devices/1"}, {"devices", list}}.dump(2));
  } else {
    for (const DeviceInfo& d : found) {
      fmt::print("{:<10} {:<36} {:<14} {}\n", d.spec, d.name, d.kind,
                 d.unusable.empty() ? d.detail : "cannot be used: " + d.unusable);
    }
  }
  return usable ? exit_ok : exit_nothing_usable;
}

}  // namespace tessera::tools
