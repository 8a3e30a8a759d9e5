// SPDX-License-Identifier: MIT OR Apache-2.0
#include "ir/verifier.hpp"

#include <fmt/format.h>

#include <vector>

#include "ir/op_info.hpp"
#include "ir/text.hpp"
#include "ir/verifier_rules.hpp"

namespace tessera::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : k_(kernel), visible_(kernel.ops.size(), false) {}

  Status run() {
    if (Status s = parameters(); !s) return s;
    return region(0, 0);
  }

 private:
  Status fail(Value v, std::string_view why) const {
    const Loc& loc = k_.op(v).loc < k_.locs.size() ? k_.locs[k_.op(v).loc] : Loc{};
    const std::string place = loc.line != 0 ? fmt::format("{}:{}: ", loc.file, loc.line) : "";
    return Error(ErrorKind::CompileFailed,
                 fmt::format("{}{} in \"{}\".", place, why, print_op(k_, v)))
        .with_kernel(k_.name);
  }

  Status parameters() const {
    const auto refuse = [&](std::string text) {
      return Error(ErrorKind::CompileFailed, std::move(text)).with_kernel(k_.name);
    };
    for (const BindingParam& b : k_.bindings) {
      if (size_of(b.type.elem) == 0) {
        return refuse(fmt::format("Parameter {} is a buffer of {}, which no buffer holds.", b.name,
                                  to_string(b.type.elem)));
      }
      if (b.atomic && (b.type.lanes != 1 || size_of(b.type.elem) != 4 || is_float(b.type.elem))) {
        return refuse(
            fmt::format("Parameter {} is atomic: its elements must be i32 or u32.", b.name));
      }
      if (b.rank > 8) return refuse(fmt::format("Parameter {} has more than 8 axes.", b.name));
    }
    for (const SharedBlock& s : k_.shared) {
      if (s.atomic && (s.type.lanes != 1 || size_of(s.type.elem) != 4 || is_float(s.type.elem))) {
        return refuse("A shared block is atomic: its elements must be i32 or u32.");
      }
    }
    if (k_.unit_count() == 0) return refuse("A cube needs at least one unit on each axis.");
    return {};
  }

  Status region(RegionId id, int loops) {
    if (id >= k_.regions.size()) {
      return Error(ErrorKind::CompileFailed, "A region that does not exist is named.")
          .with_kernel(k_.name);
    }
    const std::vector<Value>& ops = k_.regions[id].ops;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const Value v = ops[i];
      if (v >= k_.ops.size()) {
        return Error(ErrorKind::CompileFailed, "An operation that does not exist is listed.")
            .with_kernel(k_.name);
      }
      if (Status s = op(v, loops, i + 1 == ops.size()); !s) return s;
    }
    // What a region made ends with it.
    for (const Value v : ops) visible_[v] = false;
    return {};
  }

  Status op(Value v, int loops, bool last) {
    const Op& o = k_.op(v);
    const OpInfo& row = info(o.code);
    if (visible_[v]) return fail(v, "An operation stands in its region twice");
    if (row.operands >= 0 && o.operand_count != row.operands) {
      return fail(
          v, fmt::format("{} takes {} operands, not {}", row.name, row.operands, o.operand_count));
    }
    if (std::size_t{o.operand_begin} + o.operand_count > k_.operands.size()) {
      return fail(v, "The operand list is cut off");
    }
    for (const Value a : k_.args(v)) {
      if (a >= k_.ops.size() || !visible_[a]) {
        return fail(v, "An operand is not visible here");
      }
      if (k_.op(a).type.lanes == 0) return fail(v, "An operand has no value");
      const bool slot_ok =
          (o.code == Opcode::slot_load || o.code == Opcode::slot_store) && a == k_.arg(v, 0);
      if (k_.op(a).code == Opcode::slot && !slot_ok) {
        return fail(v, "A variable is used as a value: load it first");
      }
    }
    if (std::string why = types_violation(k_, v); !why.empty()) return fail(v, why);
    if (std::string why = memory_violation(k_, v); !why.empty()) return fail(v, why);
    const int regions = region_count(o.code);
    if (o.region_count != regions) {
      return fail(v, fmt::format("{} owns {} regions, not {}", row.name, regions, o.region_count));
    }
    if ((o.code == Opcode::break_ || o.code == Opcode::return_) && !last) {
      return fail(v, "Nothing may follow a break or return in its block");
    }
    if ((o.code == Opcode::break_ || o.code == Opcode::break_unless) && loops == 0) {
      return fail(v, "A break stands outside every loop");
    }
    visible_[v] = true;
    const bool loop = o.code == Opcode::for_ || o.code == Opcode::loop;
    for (int r = 0; r < regions; ++r) {
      if (Status s = region(o.region_begin + static_cast<RegionId>(r), loops + (loop ? 1 : 0));
          !s) {
        return s;
      }
    }
    // The induction variable is visible in the body alone.
    if (o.code == Opcode::for_) visible_[v] = false;
    return {};
  }

  const Kernel& k_;
  std::vector<bool> visible_;
};

}  // namespace

Status verify(const Kernel& kernel) {
  return Verifier(kernel).run();
}

}  // namespace tessera::ir
