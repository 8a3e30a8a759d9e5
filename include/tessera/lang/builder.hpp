// SPDX-License-Identifier: MIT OR Apache-2.0
// The seam between the language's headers and the library: every operation that a kernel performs
// while it is traced arrives here. Not for users; the classes of the language call it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "tessera/elem.hpp"
#include "tessera/ir/opcode.hpp"
#include "tessera/source_loc.hpp"

namespace tessera::inline v0::detail {

/// A value of the kernel being traced. `trace` tells traces apart, so that a value that outlives
/// its own is recognised.
struct ValueRef {
  std::uint32_t id = ~std::uint32_t{0};
  std::uint32_t trace = 0;
};

/// Appends an operation to the open region of the thread's current trace and returns its value.
/// Misuse (no trace, operands of other types, values of closed blocks or other traces) is recorded
/// as the trace's error; the returned value is then a harmless stand-in. Never throws.
ValueRef emit(Opcode code, ElemType type, std::span<const ValueRef> operands, std::uint64_t attr,
              SourceLoc where) noexcept;
inline ValueRef emit(Opcode code, ElemType type, std::initializer_list<ValueRef> operands,
                     std::uint64_t attr, SourceLoc where) noexcept {
  return emit(code, type, std::span<const ValueRef>(operands.begin(), operands.size()), attr,
              where);
}

/// A constant of scalar type `elem`; bits as the IR keeps them. Equal constants share a value.
ValueRef constant(Elem elem, std::uint64_t bits, SourceLoc where) noexcept;
/// A host number converted to `elem`; a number that it cannot hold exactly is the trace's error
/// (floats take any integer or double that rounds; integers take integral values in range).
ValueRef literal(Elem elem, double value, SourceLoc where) noexcept;
ValueRef literal(Elem elem, std::int64_t value, SourceLoc where) noexcept;
ValueRef literal(Elem elem, std::uint64_t value, SourceLoc where) noexcept;

// Regions. open_* appends the operation and makes its (next) region current; close_region() goes
// back to the parent. reopen_else() makes region 1 of the if that was closed last in this block
// current. All are errors of the trace where they do not fit.
ValueRef open_if(ValueRef condition, SourceLoc where) noexcept;
/// `chained`: this else holds the next condition of a chain, and an else that follows it belongs to
/// that condition.
ValueRef reopen_else(bool chained, SourceLoc where) noexcept;
ValueRef open_for(ValueRef begin, ValueRef end, ValueRef step, SourceLoc where) noexcept;
ValueRef open_loop(SourceLoc where) noexcept;
void close_region(SourceLoc where) noexcept;

/// Declares cube memory; the MemoryRef's index names it.
MemoryRef declare_shared(ElemType type, std::uint64_t count, bool atomic, SourceLoc where) noexcept;
/// check(): `message` is copied.
void emit_check(ValueRef condition, std::string_view message, SourceLoc where) noexcept;

/// Records an error of the trace; the first one wins. Never throws.
void trace_error(std::string_view message, SourceLoc where) noexcept;
/// Whether a trace is running on this thread, and its serial number.
bool tracing() noexcept;
std::uint32_t trace_serial() noexcept;
/// Properties of the kernel being traced that language code may ask at comptime.
std::uint32_t cube_dim_of(int axis) noexcept;

}  // namespace tessera::inline v0::detail
