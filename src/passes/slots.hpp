// SPDX-License-Identifier: MIT OR Apache-2.0
// Variables whose value is known.
#pragma once

#include "ir/kernel.hpp"

namespace tessera::passes {

/// Replaces a load of a variable by the value stored or loaded before it in the same region, where
/// nothing between may have stored to it. True if anything changed.
bool forward_slots(ir::Kernel& kernel);

}  // namespace tessera::passes
