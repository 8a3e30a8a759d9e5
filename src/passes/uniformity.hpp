// SPDX-License-Identifier: MIT OR Apache-2.0
// Barriers that not every unit of the cube would reach.
#pragma once

#include "ir/kernel.hpp"
#include "tessera/result.hpp"

namespace tessera::passes {

/// Refuses barriers (sync_cube, uniform_load) in flow that may differ between the units of a cube.
/// The rule is the strict one, the same for every device and placement: uniform are constants,
/// scalars, lengths, shapes, strides, cube_pos, cube_count, cube_dim, uniform_load and what pure
/// operations make of them; every other load and everything that depends on a unit's position is
/// divergent. CompileFailed names the barrier and the condition, each with its line.
Status check_uniformity(const ir::Kernel& kernel);

}  // namespace tessera::passes
