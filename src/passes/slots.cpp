// SPDX-License-Identifier: MIT OR Apache-2.0
#include "passes/slots.hpp"

#include <unordered_map>
#include <utility>

#include "passes/rewrite.hpp"

namespace tessera::passes {
namespace {

class Forwarder {
 public:
  explicit Forwarder(Kernel& kernel) : k_(kernel), replaced_(kernel) {}
  bool run() {
    region(0, {});
    return changed_;
  }

 private:
  using Known = std::unordered_map<Value, Value>;  // slot to value

  void forget_stored(RegionId id, Known& known) {
    walk(k_, id, [&](Value v) {
      if (k_.ops[v].code == Opcode::slot_store) known.erase(k_.arg(v, 0));
    });
  }

  void region(RegionId id, Known known) {
    std::vector<Value> kept;
    const std::vector<Value> ops = std::move(k_.regions[id].ops);
    for (const Value v : ops) {
      for (Value& a : k_.args(v)) a = replaced_(a);
      const Op op = k_.ops[v];
      if (op.code == Opcode::slot_load) {
        const auto [it, first] = known.emplace(k_.arg(v, 0), v);
        if (!first) {
          replaced_.replace(v, it->second);
          changed_ = true;
          continue;
        }
      } else if (op.code == Opcode::slot_store) {
        known[k_.arg(v, 0)] = k_.arg(v, 1);
      }
      kept.push_back(v);
      if (op.region_count == 0) continue;
      // A loop's body may see what its own end stored; an if's sides see what was before.
      Known inside = known;
      if (op.code != Opcode::if_) forget_stored(op.region_begin, inside);
      for (int r = 0; r < op.region_count; ++r) {
        region(op.region_begin + static_cast<RegionId>(r), inside);
      }
      for (int r = 0; r < op.region_count; ++r) {
        forget_stored(op.region_begin + static_cast<RegionId>(r), known);
      }
    }
    k_.regions[id].ops = std::move(kept);
  }

  Kernel& k_;
  Replacements replaced_;
  bool changed_ = false;
};

}  // namespace

bool forward_slots(ir::Kernel& kernel) {
  return Forwarder(kernel).run();
}

}  // namespace tessera::passes
