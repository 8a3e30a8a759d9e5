// SPDX-License-Identifier: MIT OR Apache-2.0
// One computation for equal pure operations.
#pragma once

#include "ir/kernel.hpp"

namespace tessera::passes {

/// Shares equal pure operations where the first dominates, and orders the operands of commutative
/// ones by the operations' numbers, so that a + b and b + a are one. True if anything changed.
bool share_common(ir::Kernel& kernel);

}  // namespace tessera::passes
