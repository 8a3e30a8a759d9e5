// SPDX-License-Identifier: MIT OR Apache-2.0
// What nobody needs.
#pragma once

#include "ir/kernel.hpp"

namespace tessera::passes {

/// Removes pure operations and loads without a use (so a buffer that is only stored to does not
/// look read), variables that are never loaded, ifs and loops that do nothing. A load that might
/// fault is removed with the rest: what is not computed does not fail. True if anything changed.
bool remove_dead(ir::Kernel& kernel);

}  // namespace tessera::passes
