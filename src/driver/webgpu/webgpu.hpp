// SPDX-License-Identifier: MIT OR Apache-2.0
// Adapters that WebGPU offers on this machine, and the driver for one of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "driver/driver.hpp"
#include "driver/webgpu/adapters.hpp"

namespace tessera::driver {

struct WebgpuOptions {
  std::string library;         // path of the WebGPU library; empty: searched for
  std::string vulkan_drivers;  // driver manifests, separated by colons; empty: searched for
};

/// Every adapter, in a fixed order for this process. BackendUnavailable: no library, no Vulkan
/// loader, or no adapter; the sentence says which and what was tried.
Result<std::vector<AdapterInfo>> list_adapters(const WebgpuOptions& options);

/// The driver for an adapter that list_adapters() gave.
Result<std::unique_ptr<Driver>> open_webgpu(const WebgpuOptions& options,
                                            const AdapterInfo& adapter);

}  // namespace tessera::driver
