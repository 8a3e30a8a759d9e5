// SPDX-License-Identifier: MIT OR Apache-2.0
// The rules of single operations: types by the op table and the operations' own rules.
#pragma once

#include <string>

#include "ir/kernel.hpp"

namespace tessera::ir {

/// Why the types of operands and result do not fit, or empty. Operand ids are valid.
std::string types_violation(const Kernel& kernel, Value v);
/// Why a memory operation or parameter read does not fit the kernel's parameters, or empty.
std::string memory_violation(const Kernel& kernel, Value v);
/// Regions that an operation of this code owns.
int region_count(Opcode code);

}  // namespace tessera::ir
