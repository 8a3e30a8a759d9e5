// SPDX-License-Identifier: MIT OR Apache-2.0
// WGSL text of a prepared kernel.
#pragma once

#include <cstdint>
#include <string>

#include "ir/kernel.hpp"
#include "ir/variant.hpp"
#include "tessera/result.hpp"

namespace tessera::emit {

/// Bind group 0: the kernel's bindings 0 … n-1 in order (storage); n the info words (uniform,
/// dynamic offset, array<vec4<u32>, K>, see info_layout.hpp); n+1, only where ir::can_fault(),
/// the fault words (storage, read_write, array of {claim: atomic<u32>, site: u32, low: u32,
/// high: u32} indexed by slot). Entry point "main". Unsupported names what WGSL lacks.
struct WgslOptions {
  ir::Variant variant;
  bool f16 = false;  // the device has shader-f16
};
Result<std::string> wgsl(const ir::Kernel& kernel, const WgslOptions& options);

/// K above: vec4 words of the info block.
std::uint32_t info_vec4s(const ir::Kernel& kernel);

}  // namespace tessera::emit
