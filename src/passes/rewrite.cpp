// SPDX-License-Identifier: MIT OR Apache-2.0
#include "passes/rewrite.hpp"

#include <utility>

namespace tessera::passes {

void apply(Kernel& kernel, const Replacements& replacements) {
  if (!replacements.any()) return;
  walk(kernel, 0, [&](Value v) {
    for (Value& a : kernel.args(v)) a = replacements(a);
  });
}

Value make_constant(Kernel& kernel, ir::Type type, std::uint64_t bits, std::uint32_t loc) {
  Op op;
  op.code = Opcode::constant;
  op.type = type;
  op.attr = bits;
  op.loc = loc;
  op.operand_begin = static_cast<std::uint32_t>(kernel.operands.size());
  kernel.ops.push_back(op);
  return static_cast<Value>(kernel.ops.size() - 1);
}

namespace {

class Compactor {
 public:
  explicit Compactor(Kernel& kernel)
      : old_(kernel),
        values_(kernel.ops.size(), ir::none),
        locs_(kernel.locs.size(), ir::none),
        sites_(kernel.sites.size(), ir::none),
        shared_(kernel.shared.size(), ir::none) {}

  Kernel run() {
    new_.name = old_.name;
    new_.units = old_.units;
    new_.checked = old_.checked;
    new_.bindings = old_.bindings;
    new_.scalars = old_.scalars;
    loc(0);
    region(0, 0);
    return std::move(new_);
  }

 private:
  std::uint32_t loc(std::uint32_t i) {
    if (locs_[i] == ir::none) {
      locs_[i] = static_cast<std::uint32_t>(new_.locs.size());
      new_.locs.push_back(old_.locs[i]);
    }
    return locs_[i];
  }

  std::uint64_t memory(std::uint64_t attr) {
    ir::MemoryRef m = detail::unpack_memory(attr);
    if (!m.shared) return attr;
    if (shared_[m.index] == ir::none) {
      shared_[m.index] = static_cast<std::uint32_t>(new_.shared.size());
      ir::SharedBlock block = old_.shared[m.index];
      block.loc = loc(block.loc);
      new_.shared.push_back(block);
    }
    m.index = shared_[m.index];
    return detail::pack(m);
  }

  std::uint32_t site(std::uint32_t i) {
    if (sites_[i] == ir::none) {
      sites_[i] = static_cast<std::uint32_t>(new_.sites.size());
      ir::Site s = old_.sites[i];
      s.loc = loc(s.loc);
      if (s.kind != ir::SiteKind::check) {
        s.memory = detail::unpack_memory(memory(detail::pack(s.memory)));
      }
      new_.sites.push_back(std::move(s));
    }
    return sites_[i];
  }

  void region(RegionId from, RegionId to) {
    for (const Value v : old_.regions[from].ops) {
      Op op = old_.ops[v];
      const auto args = old_.args(v);
      op.operand_begin = static_cast<std::uint32_t>(new_.operands.size());
      for (const Value a : args) new_.operands.push_back(values_[a]);
      op.loc = loc(op.loc);
      if (is_memory(op.code)) op.attr = memory(op.attr);
      if (op.site != ir::none) op.site = site(op.site);
      if (op.code == Opcode::check) op.attr = op.site;
      const RegionId old_begin = op.region_begin;
      if (op.region_count > 0) {
        op.region_begin = static_cast<RegionId>(new_.regions.size());
        new_.regions.resize(new_.regions.size() + op.region_count);
      }
      values_[v] = static_cast<Value>(new_.ops.size());
      new_.ops.push_back(op);
      new_.regions[to].ops.push_back(values_[v]);
      for (int r = 0; r < op.region_count; ++r) {
        region(old_begin + static_cast<RegionId>(r), op.region_begin + static_cast<RegionId>(r));
      }
    }
  }

  static bool is_memory(Opcode code) { return code >= Opcode::load && code <= Opcode::atomic_cas; }

  Kernel& old_;
  Kernel new_;
  std::vector<Value> values_;
  std::vector<std::uint32_t> locs_, sites_, shared_;
};

}  // namespace

void compact(Kernel& kernel) {
  kernel = Compactor(kernel).run();
}

}  // namespace tessera::passes
