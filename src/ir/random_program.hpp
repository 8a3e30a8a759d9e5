// SPDX-License-Identifier: MIT OR Apache-2.0
// Programs of every shape for property tests: what holds of these should hold of all.
#pragma once

#include <cstdint>

#include "ir/kernel.hpp"

namespace tessera::ir {

/// A verified kernel that ends, races nowhere and reads nothing unwritten, whatever its buffers'
/// lengths and scalars. Binding 0 is in, 1 inout, 2 out, of i32, u32 or f32 and one, two or four
/// lanes; units touch only their own element, absolute_pos, except for masked loads of binding 0.
/// Some programs are guarded by lengths and cannot fault; the others are checked and may fault, but
/// every unit that faults does so first by an access that no pass may drop. The same seed gives the
/// same kernel everywhere.
Kernel random_kernel(std::uint64_t seed);

}  // namespace tessera::ir
