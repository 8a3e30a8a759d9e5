// SPDX-License-Identifier: MIT OR Apache-2.0
#include "passes/dce.hpp"

#include <utility>

#include "ir/op_info.hpp"
#include "passes/rewrite.hpp"

namespace tessera::passes {
namespace {

class Remover {
 public:
  explicit Remover(Kernel& kernel)
      : k_(kernel), uses_(kernel.ops.size(), 0), stores_(kernel.ops.size(), 0) {
    walk(k_, 0, [&](Value v) {
      for (int i = 0; i < k_.ops[v].operand_count; ++i) {
        // A store alone keeps no variable alive.
        const bool target = k_.ops[v].code == Opcode::slot_store && i == 0;
        ++(target ? stores_ : uses_)[k_.arg(v, i)];
      }
    });
  }
  bool run() {
    region(0);
    return changed_;
  }

 private:
  bool dead(Value v) const {
    const Op& op = k_.ops[v];
    if (op.code == Opcode::slot_store) return uses_[k_.arg(v, 0)] == 0;
    if (op.code == Opcode::if_) {
      return k_.regions[op.region_begin].ops.empty() && k_.regions[op.region_begin + 1].ops.empty();
    }
    if (op.code == Opcode::for_) return k_.regions[op.region_begin].ops.empty();
    // The last load may go after a store was already passed: the variable waits for the next walk.
    if (uses_[v] > 0 || stores_[v] > 0) return false;
    const ir::OpInfo& row = ir::info(op.code);
    return row.has(ir::trait_pure) || op.code == Opcode::slot_load || op.code == Opcode::load ||
           op.code == Opcode::load_or || op.code == Opcode::slot;
  }

  void region(RegionId id) {
    // Backwards, so that a removal frees what it used in the same walk.
    std::vector<Value> ops = std::move(k_.regions[id].ops);
    std::vector<Value> kept;
    for (auto it = ops.rbegin(); it != ops.rend(); ++it) {
      const Value v = *it;
      for (int r = k_.ops[v].region_count; r > 0; --r) {
        region(k_.ops[v].region_begin + static_cast<RegionId>(r - 1));
      }
      if (!dead(v)) {
        kept.push_back(v);
        continue;
      }
      changed_ = true;
      for (int i = 0; i < k_.ops[v].operand_count; ++i) {
        const bool target = k_.ops[v].code == Opcode::slot_store && i == 0;
        --(target ? stores_ : uses_)[k_.arg(v, i)];
      }
    }
    k_.regions[id].ops.assign(kept.rbegin(), kept.rend());
  }

  Kernel& k_;
  std::vector<std::uint32_t> uses_;
  std::vector<std::uint32_t> stores_;  // of variables
  bool changed_ = false;
};

}  // namespace

bool remove_dead(ir::Kernel& kernel) {
  return Remover(kernel).run();
}

}  // namespace tessera::passes
