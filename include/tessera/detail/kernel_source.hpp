// SPDX-License-Identifier: MIT OR Apache-2.0
// The generated code of a device's kernels, for tools.
#pragma once

#include <string>
#include <vector>

#include "tessera/device.hpp"

namespace tessera::inline v0::detail {

struct KernelSource {
  std::string name;
  std::string target;  // "wgsl", "ir"
  std::string code;
};

/// What was compiled for the device so far, in order of registration. Waits for compilations that
/// are under way.
std::vector<KernelSource> kernel_sources(const tessera::Device& device);

}  // namespace tessera::inline v0::detail
