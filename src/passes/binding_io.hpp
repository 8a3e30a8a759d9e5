// SPDX-License-Identifier: MIT OR Apache-2.0
// What a kernel does with each binding.
#pragma once

#include "ir/kernel.hpp"

namespace tessera::passes {

/// Fills BindingParam::analysed from the operations that are left: the failure model asks about
/// what a kernel reads and claims what it writes, so this may be too wide but never too narrow.
void analyse_binding_io(ir::Kernel& kernel);

}  // namespace tessera::passes
