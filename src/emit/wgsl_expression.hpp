// SPDX-License-Identifier: MIT OR Apache-2.0
// WGSL expressions of pure operations.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "emit/wgsl_helpers.hpp"
#include "ir/kernel.hpp"

namespace tessera::emit {

/// The expression of pure operation `v` whose operands are written as `args`.
std::string wgsl_expression(const ir::Kernel& kernel, ir::Value v,
                            const std::vector<std::string>& args, Helpers& helpers);

}  // namespace tessera::emit
