// SPDX-License-Identifier: MIT OR Apache-2.0
#include "ir/interpreter_program.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace tessera::ir {
namespace {

bool depends_on_cube(Builtin builtin) {
  switch (builtin) {
    case Builtin::cube_pos_x:
    case Builtin::cube_pos_y:
    case Builtin::cube_pos_z:
    case Builtin::cube_pos:
    case Builtin::absolute_pos_x:
    case Builtin::absolute_pos_y:
    case Builtin::absolute_pos_z:
    case Builtin::absolute_pos:
      return true;
    default:
      return false;
  }
}

bool is_fixed(Opcode code) {
  switch (code) {
    case Opcode::constant:
    case Opcode::builtin:
    case Opcode::scalar:
    case Opcode::length:
    case Opcode::shape:
    case Opcode::stride:
      return true;
    default:
      return false;
  }
}

/// What an atomic does with the old value and its operand.
Opcode combine(Opcode atomic) {
  switch (atomic) {
    case Opcode::atomic_add:
      return Opcode::add;
    case Opcode::atomic_sub:
      return Opcode::sub;
    case Opcode::atomic_min:
      return Opcode::min;
    case Opcode::atomic_max:
      return Opcode::max;
    case Opcode::atomic_and:
      return Opcode::bit_and;
    case Opcode::atomic_or:
      return Opcode::bit_or;
    case Opcode::atomic_xor:
      return Opcode::bit_xor;
    default:
      return Opcode::constant;
  }
}

class Lowering {
 public:
  Lowering(const Kernel& kernel, bool wide_index)
      : kernel_(kernel),
        wide_index_(wide_index),
        home_(kernel.ops.size(), none),
        last_use_(kernel.ops.size(), 0),
        reg_(kernel.ops.size(), none),
        position_(kernel.regions.size(), 0) {
    program_.regions.resize(kernel.regions.size());
  }

  Program run() {
    find_uses(0);
    region(0);
    return std::move(program_);
  }

 private:
  void find_uses(RegionId r) {
    const auto& ops = kernel_.regions[r].ops;
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
      const Value v = ops[i];
      position_[r] = i;
      home_[v] = r;
      last_use_[v] = i;
      for (Value operand : kernel_.args(v)) last_use_[operand] = position_[home_[operand]];
      const Op& op = kernel_.op(v);
      for (std::uint32_t k = 0; k < op.region_count; ++k) find_uses(op.region_begin + k);
    }
  }

  /// True where the region, or one inside it, holds a barrier.
  bool region(RegionId r) {
    bool barrier = false;
    const auto& ops = kernel_.regions[r].ops;
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
      const Value v = ops[i];
      const Op& op = kernel_.op(v);
      if (is_fixed(op.code)) {
        fix(v, op);
        continue;
      }
      Step step = make(v, op);
      bool inner = false;
      for (std::uint32_t k = 0; k < op.region_count; ++k) inner |= region(op.region_begin + k);
      step.leaves_together = inner;
      barrier |= inner || op.code == Opcode::sync_cube || op.code == Opcode::uniform_load;
      program_.regions[r].push_back(step);
      release(v, r, i);
      for (Value operand : kernel_.args(v)) release(operand, r, i);
    }
    return barrier;
  }

  Step make(Value v, const Op& op) {
    Step step;
    step.code = op.code;
    step.type = op.type;
    step.checked = kernel_.checked && (op.flags & flag_checked) != 0;
    step.operands = static_cast<std::uint32_t>(program_.operands.size());
    step.operand_count = op.operand_count;
    step.region = op.region_begin;
    step.region_count = op.region_count;
    step.attr = op.attr;
    step.value = v;
    for (Value operand : kernel_.args(v)) {
      program_.operands.push_back({reg_[operand], kernel_.op(operand).type});
    }
    if (op.type.lanes != 0) step.out = reg_[v] = take(op.type.lanes);
    const Opcode combined = combine(op.code);
    if (combined != Opcode::constant) {
      step.function = lane_function(combined, op.type.elem, op.type.elem, wide_index_);
    } else if (op.operand_count != 0) {
      step.function = lane_function(op.code, kernel_.op(kernel_.arg(v, 0)).type.elem, op.type.elem,
                                    wide_index_);
    }
    return step;
  }

  void fix(Value v, const Op& op) {
    const auto key = std::make_tuple(op.code, op.type.elem, op.type.lanes, op.attr);
    const auto [it, fresh] = fixed_.try_emplace(key, 0);
    if (fresh) {
      it->second = program_.registers;
      program_.registers += op.type.lanes;
      const bool cube =
          op.code == Opcode::builtin && depends_on_cube(static_cast<Builtin>(op.attr));
      (cube ? program_.per_cube : program_.per_run).push_back({v, it->second});
    }
    reg_[v] = it->second;
  }

  std::uint32_t take(std::uint8_t lanes) {
    auto& free = free_[lanes];
    if (free.empty()) {
      program_.registers += lanes;
      return program_.registers - lanes;
    }
    const std::uint32_t reg = free.back();
    free.pop_back();
    return reg;
  }

  // An operand may stand in a step twice, so a released value forgets its register.
  void release(Value v, RegionId r, std::uint32_t i) {
    const Op& op = kernel_.op(v);
    if (is_fixed(op.code) || home_[v] != r || last_use_[v] != i || reg_[v] == none) return;
    free_[op.type.lanes].push_back(reg_[v]);
    reg_[v] = none;
  }

  const Kernel& kernel_;
  bool wide_index_;
  Program program_;
  std::vector<RegionId> home_;
  std::vector<std::uint32_t> last_use_;  // position in the value's own region
  std::vector<std::uint32_t> reg_;
  std::vector<std::uint32_t> position_;  // of the step being looked at, by region
  std::map<std::tuple<Opcode, Elem, std::uint8_t, std::uint64_t>, std::uint32_t> fixed_;
  std::map<std::uint8_t, std::vector<std::uint32_t>> free_;  // by lanes
};

}  // namespace

Program lower(const Kernel& kernel, bool wide_index) {
  return Lowering(kernel, wide_index).run();
}

}  // namespace tessera::ir
