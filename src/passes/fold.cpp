// SPDX-License-Identifier: MIT OR Apache-2.0
#include "passes/fold.hpp"

#include <array>
#include <optional>
#include <utility>

#include "ir/op_info.hpp"
#include "ir/scalar_math.hpp"
#include "passes/rewrite.hpp"

namespace tessera::passes {
namespace {

class Folder {
 public:
  explicit Folder(Kernel& kernel) : k_(kernel), replaced_(kernel) {}

  bool run() {
    region(0);
    return changed_;
  }

 private:
  const Op* constant(Value v) const {
    const Op& op = k_.ops[v];
    return op.code == Opcode::constant ? &op : nullptr;
  }
  bool is_constant(Value v, std::uint64_t bits) const {
    const Op* c = constant(v);
    return c != nullptr && c->attr == bits;
  }

  void region(RegionId id) {
    std::vector<Value> kept;
    const std::vector<Value> ops = std::move(k_.regions[id].ops);
    for (const Value v : ops) {
      for (Value& a : k_.args(v)) a = replaced_(a);
      if (take_known_side(v, kept)) continue;
      if (const std::optional<Value> other = simpler(v)) {
        changed_ = true;
        if (*other != v && *other + 1 == k_.ops.size() && fresh_) kept.push_back(*other);
        fresh_ = false;
        replaced_.replace(v, *other);
        continue;
      }
      kept.push_back(v);
      const Op op = k_.ops[v];
      for (int r = 0; r < op.region_count; ++r) region(op.region_begin + static_cast<RegionId>(r));
    }
    k_.regions[id].ops = std::move(kept);
  }

  // if_ of a constant: the side's operations move up. A jump inside ends its block, so it must stay
  // the last one there.
  bool take_known_side(Value v, std::vector<Value>& kept) {
    const Op op = k_.ops[v];
    if (op.code != Opcode::if_) return false;
    const Op* c = constant(k_.arg(v, 0));
    if (c == nullptr) return false;
    const RegionId side = op.region_begin + (c->attr != 0 ? 0 : 1);
    region(side);
    auto& inner = k_.regions[side].ops;
    if (!inner.empty()) {
      const Opcode last = k_.ops[inner.back()].code;
      if (last == Opcode::break_ || last == Opcode::return_) return false;
    }
    kept.insert(kept.end(), inner.begin(), inner.end());
    inner.clear();
    changed_ = true;
    return true;
  }

  Value fresh(ir::Type type, std::uint64_t bits, std::uint32_t loc) {
    fresh_ = true;
    return make_constant(k_, type, bits, loc);
  }

  std::optional<Value> simpler(Value v) {
    const Op op = k_.ops[v];
    if (op.type.lanes != 1) return std::nullopt;
    if (op.code == Opcode::builtin) return builtin(op);
    const ir::OpInfo& row = ir::info(op.code);
    if (!row.has(ir::trait_pure) || op.operand_count == 0) return std::nullopt;
    if (row.has(ir::trait_lanewise)) {
      if (std::optional<Value> c = evaluated(v, op)) return c;
    }
    return identity(v, op);
  }

  std::optional<Value> evaluated(Value v, const Op& op) {
    std::array<std::uint64_t, 3> bits{};
    for (int i = 0; i < op.operand_count; ++i) {
      const Op* c = constant(k_.arg(v, i));
      if (c == nullptr) return std::nullopt;
      bits[static_cast<std::size_t>(i)] = c->attr;
    }
    const Elem from = k_.ops[k_.arg(v, op.code == Opcode::select ? 1 : 0)].type.elem;
    const std::span<const std::uint64_t> args(bits.data(), op.operand_count);
    const std::uint64_t narrow = ir::eval_scalar(op.code, from, op.type.elem, args, false);
    // The width of Index is not known yet: only what is the same at both may be folded.
    if (ir::eval_scalar(op.code, from, op.type.elem, args, true) != narrow) return std::nullopt;
    return fresh(op.type, narrow, op.loc);
  }

  std::optional<Value> builtin(const Op& op) {
    using detail::Builtin;
    const auto& u = k_.units;
    const auto value = [&](std::uint64_t n) { return fresh(op.type, n, op.loc); };
    switch (static_cast<Builtin>(op.attr)) {
      case Builtin::cube_dim_x:
        return value(u[0]);
      case Builtin::cube_dim_y:
        return value(u[1]);
      case Builtin::cube_dim_z:
        return value(u[2]);
      case Builtin::cube_dim:
        return value(k_.unit_count());
      case Builtin::unit_pos_x:
        if (u[0] == 1) return value(0);
        break;
      case Builtin::unit_pos_y:
        if (u[1] == 1) return value(0);
        break;
      case Builtin::unit_pos_z:
        if (u[2] == 1) return value(0);
        break;
      case Builtin::unit_pos:
        if (k_.unit_count() == 1) return value(0);
        break;
      default:
        break;
    }
    return std::nullopt;
  }

  std::optional<Value> identity(Value v, const Op& op) {
    const Value a = k_.arg(v, 0);
    const Value b = op.operand_count > 1 ? k_.arg(v, 1) : a;
    if (op.code == Opcode::select) {
      if (const Op* c = constant(a)) return k_.arg(v, c->attr != 0 ? 1 : 2);
      if (b == k_.arg(v, 2)) return b;
      return std::nullopt;
    }
    if (op.code == Opcode::cast && k_.ops[a].type == op.type) return a;
    if (!is_int(op.type.elem)) return std::nullopt;
    switch (op.code) {
      case Opcode::add:
      case Opcode::bit_or:
      case Opcode::bit_xor:
        if (is_constant(a, 0)) return b;
        if (is_constant(b, 0)) return a;
        break;
      case Opcode::sub:
      case Opcode::shl:
      case Opcode::shr:
        if (is_constant(b, 0)) return a;
        break;
      case Opcode::mul:
        if (is_constant(a, 1)) return b;
        if (is_constant(b, 1)) return a;
        if (is_constant(a, 0)) return a;
        if (is_constant(b, 0)) return b;
        break;
      case Opcode::div:
        if (is_constant(b, 1)) return a;
        break;
      case Opcode::bit_and:
        if (is_constant(a, 0)) return a;
        if (is_constant(b, 0)) return b;
        break;
      default:
        break;
    }
    return std::nullopt;
  }

  Kernel& k_;
  Replacements replaced_;
  bool changed_ = false;
  bool fresh_ = false;  // the value that simpler() gave was made just now
};

}  // namespace

bool fold(ir::Kernel& kernel) {
  return Folder(kernel).run();
}

}  // namespace tessera::passes
