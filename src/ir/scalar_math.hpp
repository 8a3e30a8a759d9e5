// SPDX-License-Identifier: MIT OR Apache-2.0
// The language's arithmetic on the host: one definition for the interpreter and the folder.
//
// Every lanewise operation is a total function of bits: nothing traps, nothing is undefined, and a
// NaN that an operation computes is the canonical quiet one. So a folded and an interpreted result
// agree bit for bit, whichever operands were constants. Both faces below run the same code.
//
// Where the table leaves room: a float `mod` that is zero keeps the sign of the dividend; a float
// `rem` or `mod` by zero is NaN; `neg`, `abs`, `select`, `bitcast` and a cast to the own type move
// bits and keep what a NaN carries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ir/kernel.hpp"

namespace tessera::ir {

/// Computes `count` lanes. Unused operands are null. `out` overlaps no operand.
using LaneFunction = void (*)(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b,
                              const std::uint64_t* c, std::size_t count);

/// The function of a pure lanewise operation. `operand` is the element of operand 0 and `result`
/// that of the result. Null where the table has no such operation.
LaneFunction lane_function(Opcode code, Elem operand, Elem result, bool wide_index) noexcept;

/// The operation on single lanes. Operands and result are bits as the IR keeps constants: low bits
/// significant, upper bits zero, booleans 0 or 1. An index is 64 bits with `wide_index`, else 32.
/// Only for what lane_function() knows, with as many `args` as the table says.
std::uint64_t eval_scalar(Opcode code, Elem operand, Elem result,
                          std::span<const std::uint64_t> args, bool wide_index) noexcept;

/// Clears the bits above the element's width; a boolean becomes 0 or 1.
std::uint64_t normalise(Elem elem, std::uint64_t bits, bool wide_index) noexcept;

/// Bits of one lane as it is computed with: 1 for boolean.
int bit_width(Elem elem, bool wide_index) noexcept;

/// An integer's bits widened to 64 with its own sign.
std::int64_t widen(Elem elem, std::uint64_t bits) noexcept;

}  // namespace tessera::ir
