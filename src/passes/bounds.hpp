// SPDX-License-Identifier: MIT OR Apache-2.0
// Bounds checks that the program makes needless.
#pragma once

#include <cstddef>

#include "ir/kernel.hpp"

namespace tessera::passes {

/// Clears flag_checked of accesses that are proven to be inside: by a condition that encloses or
/// precedes them (i < a.len(), coordinates against shape), by the bounds of a loop, by the size of
/// the cube, by constants. Only what is known of the same binding counts.
void prove_bounds(ir::Kernel& kernel);

/// Accesses that are still checked; of those, how many stand inside loops.
struct CheckCount {
  std::size_t all = 0;
  std::size_t in_loops = 0;
};
CheckCount count_checks(const ir::Kernel& kernel);

}  // namespace tessera::passes
