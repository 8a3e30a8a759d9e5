// SPDX-License-Identifier: MIT OR Apache-2.0
// The kernel IR: structured SSA with slots.
//
// Values are SSA and dominate by nesting: a value may be used by later operations of its own
// region and of regions nested inside it, never outside. Control flow is operations that own
// regions (if_ two, for_ and loop one); a region is a list of operations and there are no phis,
// no block arguments and no jumps other than break_, break_unless and return_. Variables are slot
// operations with slot_load and slot_store. Every operation has at most one result, so the number
// of an operation names its value too. The result of for_ is the induction variable: visible
// inside its region only.
//
// One arena per kernel, 32-bit ids, no virtual calls. Ids are stable: passes drop operations by
// taking them out of their region (see compact() for the renumbering) and never reuse an id.
// The same trace gives the same bytes. A Kernel is a value; once built it is shared as const.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/elem.hpp"
#include "tessera/ir/opcode.hpp"

namespace tessera::ir {

using detail::Access;
using detail::Builtin;
using detail::MemoryRef;
using detail::Opcode;
using Type = ElemType;

using Value = std::uint32_t;  // number of the defining operation
using RegionId = std::uint32_t;
inline constexpr std::uint32_t none = ~std::uint32_t{0};

// Flags of an operation.
enum : std::uint8_t {
  flag_checked = 1,   // memory operation whose coordinates are not proven: test, fault if outside
  flag_contract = 2,  // multiply-add may be fused here
};

struct Op {
  Opcode code{};
  std::uint8_t flags = 0;
  Type type{};  // of the result; {none, 0} where there is none
  std::uint16_t operand_count = 0;
  std::uint16_t region_count = 0;
  std::uint32_t operand_begin = 0;  // into Kernel::operands
  RegionId region_begin = none;     // regions of one operation have consecutive ids
  std::uint64_t attr = 0;           // meaning by opcode: see ops.def
  std::uint32_t loc = 0;            // into Kernel::locs
  std::uint32_t site = none;        // into Kernel::sites, for what can fault
};

/// Bits of a constant: two's complement or IEEE pattern in the low bits of attr, upper bits zero;
/// booleans 0 or 1; a vector constant is a splat of a scalar one.
struct Region {
  std::vector<Value> ops;
};

struct Loc {
  std::string file;
  std::uint32_t line = 0;
};

/// A buffer or tensor parameter. rank 0 is a flat buffer (`a[i]`), else a tensor of that many axes.
struct BindingParam {
  std::string name;
  Type type;
  Access declared = Access::in;
  std::uint8_t rank = 0;
  bool atomic = false;             // elements are reached by atomic operations alone
  Access analysed = Access::none;  // filled by passes::binding_io; none = dead
};

struct ScalarParam {
  std::string name;
  Elem elem = Elem::none;
};

/// Memory of one cube. Uninitialised.
struct SharedBlock {
  Type type;
  std::uint64_t count = 0;
  bool atomic = false;
  std::uint32_t loc = 0;
};

enum class SiteKind : std::uint8_t { load, store, atomic, check };

/// A place that can fault, so that a fault word of two numbers becomes a sentence.
struct Site {
  SiteKind kind = SiteKind::load;
  MemoryRef memory;  // not for check
  std::uint32_t loc = 0;
  std::string text;  // the check's message; empty otherwise
};

struct Kernel {
  std::string name;
  std::array<std::uint32_t, 3> units{1, 1, 1};  // cube dim
  bool checked = true;
  std::vector<BindingParam> bindings;
  std::vector<ScalarParam> scalars;
  std::vector<SharedBlock> shared;
  std::vector<Site> sites;
  std::vector<Loc> locs;

  std::vector<Op> ops;
  std::vector<Value> operands;
  std::vector<Region> regions;  // regions[0] is the body; present from construction

  Kernel() : regions(1) {}

  const Op& op(Value v) const { return ops[v]; }
  std::span<const Value> args(Value v) const {
    return {operands.data() + ops[v].operand_begin, ops[v].operand_count};
  }
  std::span<Value> args(Value v) {
    return {operands.data() + ops[v].operand_begin, ops[v].operand_count};
  }
  Value arg(Value v, int i) const { return operands[ops[v].operand_begin + i]; }
  std::uint64_t unit_count() const { return std::uint64_t{units[0]} * units[1] * units[2]; }
};

/// Coordinates a memory operation begins with: the tensor's rank, else one.
int coordinate_count(const Kernel& kernel, const Op& op);

/// True where a launch of the kernel can fault: it keeps an unproven check.
bool can_fault(const Kernel& kernel);

/// Position of a fault index for tensors of two axes: row in the high half, column in the low.
constexpr std::uint64_t pack_coordinates(std::uint64_t row, std::uint64_t column) {
  return (row << 32) | (column & 0xffffffffu);
}

/// Order of the 64-bit parameter words of every launch, whatever the driver makes of them:
/// the scalars; the length in elements of each binding; then for each tensor binding, in order,
/// its shape and its strides in elements. Scalars are bits as in a constant.
struct ParameterLayout {
  std::uint32_t lengths = 0;           // index of binding 0's length
  std::vector<std::uint32_t> shapes;   // per binding; none for flat buffers
  std::vector<std::uint32_t> strides;  // per binding
  std::uint32_t count = 0;
};
ParameterLayout parameter_layout(const Kernel& kernel);

}  // namespace tessera::ir
