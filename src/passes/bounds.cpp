// SPDX-License-Identifier: MIT OR Apache-2.0
#include "passes/bounds.hpp"

#include <algorithm>
#include <optional>

#include "passes/rewrite.hpp"

namespace tessera::passes {
namespace {

// value < limit, where limit is an operation (a length or an extent) named by what it is.
struct Fact {
  Value value;
  Opcode limit;        // length, shape, or constant
  std::uint64_t attr;  // of that operation
};

class Prover {
 public:
  explicit Prover(Kernel& kernel) : k_(kernel) {}
  void run() { region(0); }

 private:
  void region(RegionId id) {
    const std::size_t before = facts_.size();
    for (const Value v : k_.regions[id].ops) {
      Op& op = k_.ops[v];
      if ((op.flags & ir::flag_checked) != 0 && inside(v)) op.flags &= ~ir::flag_checked;
      const Op o = op;
      switch (o.code) {
        case Opcode::if_: {
          const std::size_t here = facts_.size();
          assume(k_.arg(v, 0), true);
          region(o.region_begin);
          facts_.resize(here);
          assume(k_.arg(v, 0), false);
          region(o.region_begin + 1);
          facts_.resize(here);
          // A side that never falls through leaves the other's condition to what follows.
          if (ends(o.region_begin)) assume(k_.arg(v, 0), false);
          if (ends(o.region_begin + 1)) assume(k_.arg(v, 0), true);
          break;
        }
        case Opcode::for_:
          if (is_unsigned_int(o.type.elem)) note(v, k_.arg(v, 1));
          region(o.region_begin);
          break;
        case Opcode::loop:
          region(o.region_begin);
          break;
        case Opcode::break_unless:
          assume(k_.arg(v, 0), true);
          break;
        default:
          break;
      }
    }
    facts_.resize(before);
  }

  bool ends(RegionId id) const {
    const auto& ops = k_.regions[id].ops;
    if (ops.empty()) return false;
    const Opcode last = k_.ops[ops.back()].code;
    return last == Opcode::break_ || last == Opcode::return_;
  }

  void note(Value value, Value limit) {
    const Op& op = k_.ops[limit];
    if (op.code == Opcode::length || op.code == Opcode::shape || op.code == Opcode::constant) {
      facts_.push_back({value, op.code, op.attr});
    }
  }

  // The condition holds (or does not): what follows of unsigned comparisons.
  void assume(Value condition, bool holds) {
    const Op& op = k_.ops[condition];
    if (op.type.lanes != 1) return;
    const auto arg = [&](int i) { return k_.arg(condition, i); };
    const bool comparable = op.operand_count == 2 && is_unsigned_int(k_.ops[arg(0)].type.elem);
    switch (op.code) {
      case Opcode::bit_not:
        assume(arg(0), !holds);
        break;
      case Opcode::bit_and:
        if (holds) {
          assume(arg(0), true);
          assume(arg(1), true);
        }
        break;
      case Opcode::bit_or:
        if (!holds) {
          assume(arg(0), false);
          assume(arg(1), false);
        }
        break;
      case Opcode::lt:
        if (comparable && holds) note(arg(0), arg(1));
        break;
      case Opcode::gt:
        if (comparable && holds) note(arg(1), arg(0));
        break;
      case Opcode::ge:
        if (comparable && !holds) note(arg(0), arg(1));
        break;
      case Opcode::le:
        if (comparable && !holds) note(arg(1), arg(0));
        break;
      default:
        break;
    }
  }

  bool known(Value value, Opcode limit, std::uint64_t attr) const {
    if (std::any_of(facts_.begin(), facts_.end(), [&](const Fact& f) {
          return f.value == value && f.limit == limit && f.attr == attr;
        })) {
      return true;
    }
    // A u32 below the limit stays below it as an Index.
    const Op& op = k_.ops[value];
    return op.code == Opcode::cast && op.type.elem == Elem::index &&
           k_.ops[k_.arg(value, 0)].type.elem == Elem::u32 && known(k_.arg(value, 0), limit, attr);
  }

  // The largest value that an unsigned number can have here; none: unknown. Sums and products only
  // while they stay below 2^32, so that neither width of Index wraps.
  std::optional<std::uint64_t> largest(Value v, int depth = 0) const {
    const Op& op = k_.ops[v];
    if (op.type.lanes != 1 || !is_unsigned_int(op.type.elem) || depth > 8) return std::nullopt;
    std::optional<std::uint64_t> best;
    const auto offer = [&](std::optional<std::uint64_t> n) {
      if (n && (!best || *n < *best)) best = n;
    };
    for (const Fact& f : facts_) {
      if (f.value == v && f.limit == Opcode::constant && f.attr > 0) offer(f.attr - 1);
    }
    const auto of = [&](int i) { return largest(k_.arg(v, i), depth + 1); };
    const auto capped = [](std::uint64_t n) {
      return n <= 0xffffffffu ? std::optional<std::uint64_t>(n) : std::nullopt;
    };
    using detail::Builtin;
    switch (op.code) {
      case Opcode::constant:
        offer(op.attr);
        break;
      case Opcode::builtin:
        switch (static_cast<Builtin>(op.attr)) {
          case Builtin::unit_pos_x:
            offer(k_.units[0] - 1);
            break;
          case Builtin::unit_pos_y:
            offer(k_.units[1] - 1);
            break;
          case Builtin::unit_pos_z:
            offer(k_.units[2] - 1);
            break;
          case Builtin::unit_pos:
            offer(k_.unit_count() - 1);
            break;
          default:
            break;
        }
        break;
      case Opcode::cast:
        if (is_unsigned_int(k_.ops[k_.arg(v, 0)].type.elem)) offer(of(0));
        break;
      case Opcode::rem:
      case Opcode::mod:
        // x rem 0 is 0, so the divisor's largest value bounds it too.
        if (const auto n = of(1); n && *n > 0) offer(*n - 1);
        offer(of(0));
        break;
      case Opcode::bit_and:
        offer(of(0));
        offer(of(1));
        break;
      case Opcode::min:
        offer(of(0));
        offer(of(1));
        break;
      case Opcode::max:
      case Opcode::select: {
        const int first = op.code == Opcode::select ? 1 : 0;
        const auto a = of(first), b = of(first + 1);
        if (a && b) offer(std::max(*a, *b));
        break;
      }
      case Opcode::add: {
        const auto a = of(0), b = of(1);
        if (a && b) offer(capped(*a + *b));
        break;
      }
      case Opcode::mul: {
        const auto a = of(0), b = of(1);
        if (a && b && *a <= 0xffffffffu && *b <= 0xffffffffu) offer(capped(*a * *b));
        break;
      }
      case Opcode::div:
      case Opcode::shr:
        offer(of(0));
        break;
      case Opcode::for_:
        if (const auto end = largest(k_.arg(v, 1), depth + 1); end && *end > 0) offer(*end - 1);
        break;
      default:
        break;
    }
    return best;
  }

  bool inside(Value v) const {
    const Op& op = k_.ops[v];
    const ir::MemoryRef memory = detail::unpack_memory(op.attr);
    const int coordinates = ir::coordinate_count(k_, op);
    for (int i = 0; i < coordinates; ++i) {
      const Value at = k_.arg(v, i);
      if (memory.shared) {
        const auto most = largest(at);
        if (!most || *most >= k_.shared[memory.index].count) return false;
      } else if (k_.bindings[memory.index].rank == 0) {
        if (!known(at, Opcode::length, memory.index)) return false;
      } else if (!known(at, Opcode::shape, memory.index | (static_cast<std::uint64_t>(i) << 32))) {
        return false;
      }
    }
    return true;
  }

  Kernel& k_;
  std::vector<Fact> facts_;
};

void count(const Kernel& kernel, RegionId region, bool in_loop, CheckCount& out) {
  for (const Value v : kernel.regions[region].ops) {
    const Op& op = kernel.ops[v];
    if ((op.flags & ir::flag_checked) != 0) {
      ++out.all;
      if (in_loop) ++out.in_loops;
    }
    const bool loop = op.code == Opcode::for_ || op.code == Opcode::loop;
    for (int r = 0; r < op.region_count; ++r) {
      count(kernel, op.region_begin + static_cast<RegionId>(r), in_loop || loop, out);
    }
  }
}

}  // namespace

void prove_bounds(ir::Kernel& kernel) {
  Prover(kernel).run();
}

CheckCount count_checks(const ir::Kernel& kernel) {
  CheckCount out;
  count(kernel, 0, false, out);
  return out;
}

}  // namespace tessera::passes
