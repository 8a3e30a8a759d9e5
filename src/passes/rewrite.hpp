// SPDX-License-Identifier: MIT OR Apache-2.0
// What passes share: walking regions, replacing values, dropping operations.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/kernel.hpp"

namespace tessera::passes {

using ir::Kernel;
using ir::Op;
using ir::Opcode;
using ir::RegionId;
using ir::Value;

/// Values that stand for others. Chains are followed.
class Replacements {
 public:
  explicit Replacements(const Kernel& kernel) : to_(kernel.ops.size(), ir::none) {}
  void replace(Value from, Value to) {
    if (from >= to_.size()) to_.resize(from + 1, ir::none);
    to_[from] = to;
    any_ = true;
  }
  Value operator()(Value v) const {
    while (v < to_.size() && to_[v] != ir::none) v = to_[v];
    return v;
  }
  bool replaced(Value v) const { return v < to_.size() && to_[v] != ir::none; }
  bool any() const noexcept { return any_; }

 private:
  std::vector<Value> to_;
  bool any_ = false;
};

/// Calls f(v) for each operation of the region and of those inside, in program order.
template <class F>
void walk(const Kernel& kernel, RegionId region, F&& f) {
  for (const Value v : kernel.regions[region].ops) {
    f(v);
    const Op& op = kernel.ops[v];
    for (int r = 0; r < op.region_count; ++r) {
      walk(kernel, op.region_begin + static_cast<RegionId>(r), f);
    }
  }
}

/// Rewrites every operand.
void apply(Kernel& kernel, const Replacements& replacements);

/// Renumbers operations, operands, regions, places and sites in program order and forgets what no
/// region holds: equal programs become equal bytes.
void compact(Kernel& kernel);

/// Appends a constant operation (in no region yet).
Value make_constant(Kernel& kernel, ir::Type type, std::uint64_t bits, std::uint32_t loc);

}  // namespace tessera::passes
