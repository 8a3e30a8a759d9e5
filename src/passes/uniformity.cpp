// SPDX-License-Identifier: MIT OR Apache-2.0
#include "passes/uniformity.hpp"

#include <fmt/format.h>

#include <optional>

#include "ir/op_info.hpp"
#include "ir/text.hpp"
#include "passes/rewrite.hpp"

namespace tessera::passes {
namespace {

// What tells units apart: a value, and the operation that acts on it. That one's place is named,
// since a condition written with operators has none of its own.
struct Cause {
  Value value = ir::none;
  Value at = ir::none;
};

// Whether all units are here together; if not, why.
struct Flow {
  bool divergent = false;
  Cause cause;
};

// How a region may have been left by some units and not by others.
struct Left {
  std::optional<Cause> by_break;
  std::optional<Cause> by_return;
};

class Analysis {
 public:
  explicit Analysis(const Kernel& kernel) : k_(kernel), divergent_(kernel.ops.size(), false) {}

  Status run() {
    // Divergence of variables only grows; a round without growth is the fixpoint.
    do {
      grew_ = false;
      error_.reset();
      region(0, {});
    } while (grew_);
    return error_ ? Status(*error_) : Status();
  }

 private:
  void mark(Value v, bool divergent) {
    if (divergent && !divergent_[v]) {
      divergent_[v] = true;
      grew_ = true;
    }
  }
  bool any_operand(Value v) const {
    for (const Value a : k_.args(v)) {
      if (divergent_[a]) return true;
    }
    return false;
  }
  static bool by_unit(detail::Builtin b) {
    using detail::Builtin;
    return b <= Builtin::unit_pos || b >= Builtin::absolute_pos_x;
  }

  Left region(RegionId id, Flow flow) {
    Left left;
    for (const Value v : k_.regions[id].ops) {
      const Op& op = k_.ops[v];
      switch (op.code) {
        case Opcode::if_:
          merge(left, flow, branch(v, flow));
          break;
        case Opcode::for_:
        case Opcode::loop:
          merge(left, flow, loop(v, flow));
          break;
        case Opcode::break_unless:
          if (flow.divergent || divergent_[k_.arg(v, 0)]) {
            const Cause cause = flow.divergent ? flow.cause : Cause{k_.arg(v, 0), v};
            merge(left, flow, {cause, std::nullopt});
          }
          break;
        case Opcode::break_:
          if (flow.divergent) left.by_break = flow.cause;
          break;
        case Opcode::return_:
          if (flow.divergent) left.by_return = flow.cause;
          break;
        case Opcode::slot_store:
          mark(k_.arg(v, 0), flow.divergent || divergent_[k_.arg(v, 1)]);
          break;
        case Opcode::slot:
          break;
        case Opcode::builtin:
          mark(v, by_unit(static_cast<detail::Builtin>(op.attr)));
          break;
        case Opcode::sync_cube:
        case Opcode::uniform_load:
          barrier(v, flow);
          break;
        default:
          mark(v, ir::info(op.code).has(ir::trait_pure) || op.code == Opcode::slot_load
                      ? any_operand(v)
                      : true);
      }
    }
    return left;
  }

  // From here on the units that left are missing.
  static void merge(Left& left, Flow& flow, const Left& inner) {
    if (inner.by_break && !left.by_break) left.by_break = inner.by_break;
    if (inner.by_return && !left.by_return) left.by_return = inner.by_return;
    const std::optional<Cause> cause = inner.by_break ? inner.by_break : inner.by_return;
    if (cause && !flow.divergent) flow = {true, *cause};
  }

  Left branch(Value v, Flow flow) {
    const Op& op = k_.ops[v];
    Flow inside = flow;
    if (!inside.divergent && divergent_[k_.arg(v, 0)]) inside = {true, {k_.arg(v, 0), v}};
    Left left = region(op.region_begin, inside);
    const Left other = region(op.region_begin + 1, inside);
    if (!left.by_break) left.by_break = other.by_break;
    if (!left.by_return) left.by_return = other.by_return;
    return left;
  }

  Left loop(Value v, Flow flow) {
    const Op& op = k_.ops[v];
    Flow inside = flow;
    if (op.code == Opcode::for_) {
      for (const Value bound : k_.args(v)) {
        if (!inside.divergent && divergent_[bound]) inside = {true, {bound, v}};
      }
      mark(v, inside.divergent);
    }
    Left left = region(op.region_begin, inside);
    const std::optional<Cause> cause = left.by_break ? left.by_break : left.by_return;
    if (cause && !inside.divergent) {
      // The next round starts without the units that left.
      left = region(op.region_begin, {true, *cause});
    }
    left.by_break.reset();  // they meet again behind the loop
    return left;
  }

  void barrier(Value v, Flow flow) {
    const Op& op = k_.ops[v];
    if (op.code == Opcode::uniform_load && !flow.divergent && divergent_[k_.arg(v, 0)]) {
      flow = {true, {k_.arg(v, 0), v}};
    }
    if (!flow.divergent || error_) return;
    const ir::Loc& at = k_.locs[op.loc];
    const ir::Loc& why = k_.locs[k_.ops[flow.cause.at].loc];
    error_ = Error(ErrorKind::CompileFailed,
                   fmt::format("The barrier {} at {}:{} may be reached by some units of a cube and "
                               "not by others: whether they do depends on \"{}\" at {}:{}, which "
                               "can differ between units. Move the barrier out, or steer it by "
                               "scalars, shapes, cube_pos or uniform_load.",
                               ir::info(op.code).name, at.file, at.line,
                               ir::print_op(k_, flow.cause.value), why.file, why.line))
                 .with_kernel(k_.name);
  }

  const Kernel& k_;
  std::vector<bool> divergent_;
  bool grew_ = false;
  std::optional<Error> error_;
};

}  // namespace

Status check_uniformity(const ir::Kernel& kernel) {
  return Analysis(kernel).run();
}

}  // namespace tessera::passes
