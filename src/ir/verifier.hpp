// SPDX-License-Identifier: MIT OR Apache-2.0
// Structure and types of a kernel, checked against the op table.
#pragma once

#include "ir/kernel.hpp"
#include "tessera/result.hpp"

namespace tessera::ir {

/// Ids in range, dominance by nesting, operand counts and types by the table, terminators last in
/// their region, break_ and break_unless inside loops, attributes that name existing parameters,
/// coordinates of integer type, coordinates counted by rank, declared access respected (no load
/// from out, no store to in), non-zero constant steps. The first violation is a CompileFailed with
/// the user's line and the operation's text. Run after tracing and, in debug builds, each pass.
Status verify(const Kernel& kernel);

}  // namespace tessera::ir
