// SPDX-License-Identifier: MIT OR Apache-2.0
#include "passes/cse.hpp"

#include <map>
#include <tuple>
#include <utility>

#include "ir/op_info.hpp"
#include "passes/rewrite.hpp"

namespace tessera::passes {
namespace {

using Key = std::tuple<Opcode, Elem, std::uint8_t, std::uint8_t, std::uint64_t, std::vector<Value>>;

class Sharer {
 public:
  explicit Sharer(Kernel& kernel) : k_(kernel), replaced_(kernel) {}
  bool run() {
    region(0);
    return changed_;
  }

 private:
  void region(RegionId id) {
    // What an enclosing region knows stays known; what is found here is forgotten at the end.
    std::vector<Key> mine;
    std::vector<Value> kept;
    const std::vector<Value> ops = std::move(k_.regions[id].ops);
    for (const Value v : ops) {
      for (Value& a : k_.args(v)) a = replaced_(a);
      const Op op = k_.ops[v];
      const ir::OpInfo& row = ir::info(op.code);
      if (row.has(ir::trait_pure)) {
        const auto args = k_.args(v);
        if (row.has(ir::trait_commutative) && args[1] < args[0]) std::swap(args[0], args[1]);
        Key key{op.code,  op.type.elem, op.type.lanes,
                op.flags, op.attr,      {args.begin(), args.end()}};
        const auto [it, first] = known_.emplace(std::move(key), v);
        if (!first) {
          replaced_.replace(v, it->second);
          changed_ = true;
          continue;
        }
        mine.push_back(it->first);
      }
      kept.push_back(v);
      for (int r = 0; r < op.region_count; ++r) region(op.region_begin + static_cast<RegionId>(r));
    }
    for (const Key& key : mine) known_.erase(key);
    k_.regions[id].ops = std::move(kept);
  }

  Kernel& k_;
  Replacements replaced_;
  std::map<Key, Value> known_;
  bool changed_ = false;
};

}  // namespace

bool share_common(ir::Kernel& kernel) {
  return Sharer(kernel).run();
}

}  // namespace tessera::passes
