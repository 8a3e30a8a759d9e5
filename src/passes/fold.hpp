// SPDX-License-Identifier: MIT OR Apache-2.0
// Constants and identities.
#pragma once

#include "ir/kernel.hpp"

namespace tessera::passes {

/// Evaluates pure operations on constants with the very functions of the interpreter, so that a
/// folded result is the run-time result; replaces builtins that the cube's size fixes; applies
/// identities of integers (never of floats: x + 0 and x * 1 change -0 and NaN); takes the known
/// side of an if. True if anything changed.
bool fold(ir::Kernel& kernel);

}  // namespace tessera::passes
