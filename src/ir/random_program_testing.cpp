// SPDX-License-Identifier: MIT OR Apache-2.0
// The random programs: declarations, then values, statements and exchanges over shared memory.
#include <array>
#include <utility>
#include <vector>

#include "ir/op_info.hpp"
#include "ir/random_program.hpp"
#include "ir/test_kernel.hpp"

namespace tessera::ir {
namespace {

constexpr std::array<Elem, 4> elements{Elem::i32, Elem::u32, Elem::f32, Elem::boolean};
constexpr std::array<std::uint8_t, 3> lane_counts{1, 2, 4};

// How accesses of buffers stay inside.
enum class Guard : std::uint8_t { branch, early_return, flag };

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : state_(seed), t_(units()) {}

  Kernel build() {
    t_.k.name = "random";
    with_shared_ = chance(40);
    guard_ = static_cast<Guard>(below(3));
    if (with_shared_ && guard_ == Guard::early_return) guard_ = Guard::branch;
    parameters();
    preamble();
    if (with_shared_) {
      const std::uint64_t phases = 1 + below(3);
      for (std::uint64_t i = 0; i < phases; ++i) uniform_phase();
    } else {
      guarded([&] { statements(6 + below(20), 0, true); });
    }
    guarded([&] {
      store_own(1);
      store_own(2);
    });
    return std::move(t_.k);
  }

 private:
  // ---- chance ---------------------------------------------------------------------------------

  // SplitMix64: the standard's distributions differ between libraries.
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t n) { return next() % n; }
  bool chance(std::uint64_t percent) { return below(100) < percent; }
  template <class C>
  auto pick(const C& from) {
    return from[below(from.size())];
  }
  std::uint32_t units() { return pick(std::array<std::uint32_t, 4>{1, 4, 7, 16}); }

  // ---- values ---------------------------------------------------------------------------------

  Value made(Value v) {
    pool_.push_back(v);
    return v;
  }
  Type random_type() { return {pick(elements), pick(lane_counts)}; }

  Value constant(Elem elem) {
    static constexpr std::array<std::uint64_t, 12> words{
        0, 1, 2, 3, 7, 31, 32, 255, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    // 0, -0, 1, -1, 0.5, 2.5, 1e30, infinity, -infinity, NaN, the smallest, 16777217
    static constexpr std::array<std::uint64_t, 12> floats{
        0,          0x80000000, 0x3f800000, 0xbf800000, 0x3f000000, 0x40200000,
        0x7149f2ca, 0x7f800000, 0xff800000, 0x7fc00000, 1,          0x4b800000};
    if (elem == Elem::boolean) return made(t_.constant(elem, below(2)));
    if (chance(20)) return made(t_.constant(elem, next() & 0xffffffffu));
    return made(t_.constant(elem, elem == Elem::f32 ? pick(floats) : pick(words)));
  }

  Value value(Type type) {
    std::vector<Value> fitting;
    for (const Value v : pool_) {
      if (t_.k.op(v).type == type) fitting.push_back(v);
    }
    if (!fitting.empty() && chance(85)) {
      // Late values are used more, so that chains grow.
      return chance(50) ? fitting.back() : pick(fitting);
    }
    if (type.lanes == 1) return constant(type.elem);
    const Type one{type.elem, 1};
    if (chance(50)) return made(t_.op(Opcode::splat, type, {value(one)}));
    return compose(type);
  }
  Value scalar_value(Elem elem) { return value({elem, 1}); }

  Value compose(Type type) {
    const Type one{type.elem, 1};
    const Value a = value(one), b = value(one);
    if (type.lanes == 2) return made(t_.op(Opcode::compose, type, {a, b}));
    const Value c = value(one), d = value(one);
    return made(t_.op(Opcode::compose, type, {a, b, c, d}));
  }

  Elem operand_element(Elements allowed) {
    switch (allowed) {
      case Elements::number:
        return pick(std::array{Elem::i32, Elem::u32, Elem::f32});
      case Elements::integer:
        return pick(std::array{Elem::i32, Elem::u32});
      case Elements::floating:
        return Elem::f32;
      case Elements::boolean:
        return Elem::boolean;
      case Elements::bits:
        return pick(std::array{Elem::i32, Elem::u32, Elem::boolean});
      default:
        return pick(elements);
    }
  }

  // One operation of the table, with whatever operands its row asks for.
  void lanewise() {
    static const std::vector<Opcode> codes = [] {
      std::vector<Opcode> all;
      for (int i = 0; i < detail::opcode_count; ++i) {
        if (info(static_cast<Opcode>(i)).has(trait_lanewise)) {
          all.push_back(static_cast<Opcode>(i));
        }
      }
      return all;
    }();
    const Opcode code = pick(codes);
    const OpInfo& row = info(code);
    const Type type{operand_element(row.elements), pick(lane_counts)};
    if (code == Opcode::select) {
      const Type condition{Elem::boolean, chance(50) ? std::uint8_t{1} : type.lanes};
      const Value c = value(condition), a = value(type), b = value(type);
      made(t_.op(code, type, {c, a, b}));
      return;
    }
    Type result = type;
    if (row.result == ResultRule::boolean) result.elem = Elem::boolean;
    if (code == Opcode::cast) result.elem = pick(elements);
    if (code == Opcode::bitcast) result.elem = operand_element(Elements::number);
    const bool fusible = code == Opcode::add || code == Opcode::sub || code == Opcode::mul;
    const std::uint8_t flags = fusible && type.elem == Elem::f32 && chance(50)
                                   ? std::uint8_t{flag_contract}
                                   : std::uint8_t{0};
    const Value a = value(type);
    if (row.operands == 1) {
      made(t_.op(code, result, {a}, 0, flags));
      return;
    }
    const Value b = value(type);
    if (row.operands == 2) {
      made(t_.op(code, result, {a, b}, 0, flags));
    } else {
      made(t_.op(code, result, {a, b, value(type)}, 0, flags));
    }
  }

  void lanes() {
    const Type type{pick(elements), chance(50) ? std::uint8_t{2} : std::uint8_t{4}};
    const Type one{type.elem, 1};
    switch (below(4)) {
      case 0:
        made(t_.op(Opcode::splat, type, {value(one)}));
        break;
      case 1:
        compose(type);
        break;
      case 2: {
        const Value v = value(type);
        made(t_.op(Opcode::extract, one, {v}, below(type.lanes)));
        break;
      }
      default: {
        const Value v = value(type), lane = value(one);
        made(t_.op(Opcode::insert, type, {v, lane}, below(type.lanes)));
      }
    }
  }

  // A small number of the type, known or not.
  Value small(Elem elem) {
    if (elem == Elem::index) return t_.op(Opcode::cast, {elem, 1}, {small(Elem::u32)});
    if (chance(50)) return t_.constant(elem, below(6));
    const Value mask = t_.constant(elem, 7);
    return t_.op(Opcode::bit_and, {elem, 1}, {scalar_value(elem), mask});
  }

  // A value of the type made of one of another type, so that the result needs it.
  Value converted(Value v, Type to) {
    Type from = t_.k.op(v).type;
    if (from == to) return v;
    if (from.lanes > 1) {
      from.lanes = 1;
      v = t_.op(Opcode::extract, from, {v}, 0);
    }
    if (from.elem != to.elem) v = t_.op(Opcode::cast, {to.elem, 1}, {v});
    return to.lanes == 1 ? v : t_.op(Opcode::splat, to, {v});
  }

  // ---- parameters -----------------------------------------------------------------------------

  Type element_type() { return {operand_element(Elements::number), pick(lane_counts)}; }

  void parameters() {
    memory_[0] = t_.binding("x", element_type(), Access::in);
    memory_[1] = t_.binding("y", element_type(), Access::inout);
    memory_[2] = t_.binding("z", element_type(), Access::out);
    if (with_shared_) shared_ = t_.shared({operand_element(Elements::number), 1}, t_.k.units[0]);
  }

  void preamble() {
    uniform_.push_back(made(t_.scalar("n", Elem::u32)));
    made(t_.scalar("m", Elem::i32));
    made(t_.scalar("a", Elem::f32));
    position_ = t_.builtin(Builtin::absolute_pos);
    unit_ = t_.builtin(Builtin::unit_pos);
    made(t_.op(Opcode::cast, t_.u32, {position_}));
    made(t_.op(Opcode::cast, t_.i32, {unit_}));
    for (std::uint32_t b = 0; b < 3; ++b) lengths_[b] = t_.op(Opcode::length, t_.index, {}, b);
    made(t_.op(Opcode::cast, t_.u32, {lengths_[0]}));
    t_.checked = guard_ == Guard::flag || chance(70);
    if (guard_ == Guard::flag) {
      // Who is outside of any buffer faults here, before anything that a pass may drop.
      for (const std::uint32_t b : {2u, 1u}) {
        const Type type = t_.k.bindings[b].type;
        t_.store(memory_[b], {position_}, value(type));
      }
      const Value loaded = made(t_.load(memory_[0], {position_}));
      t_.store(memory_[2], {position_}, converted(loaded, t_.k.bindings[2].type));
      if (chance(30)) t_.check(scalar_value(Elem::boolean), "a random condition");
    }
    if (guard_ == Guard::early_return) {
      Value outside = t_.op(Opcode::ge, t_.boolean, {position_, lengths_[0]});
      for (const std::uint32_t b : {1u, 2u}) {
        const Value also = t_.op(Opcode::le, t_.boolean, {lengths_[b], position_});
        outside = t_.op(Opcode::bit_or, t_.boolean, {outside, also});
      }
      t_.if_(outside, [&] { t_.op(Opcode::return_, {}); });
    }
  }

  // ---- statements -----------------------------------------------------------------------------

  // A block: what it makes is gone behind it.
  template <class F>
  void scoped(F&& body) {
    const std::size_t values = pool_.size(), variables = slots_.size();
    body();
    pool_.resize(values);
    slots_.resize(variables);
  }

  template <class F>
  void guarded(F&& body) {
    const bool outer = std::exchange(reachable_, true);
    const auto block = [&] { scoped(body); };
    if (guard_ == Guard::branch) {
      if (chance(30)) {
        t_.if_(inside(0), [&] { t_.if_(inside(1), [&] { t_.if_(inside(2), block); }); });
      } else {
        const Value both = t_.op(Opcode::bit_and, t_.boolean, {inside(0), inside(1)});
        t_.if_(t_.op(Opcode::bit_and, t_.boolean, {both, inside(2)}), block);
      }
    } else if (guard_ == Guard::flag && chance(50)) {
      // Proves some of the checks needless and not the others.
      t_.if_(inside(static_cast<std::uint32_t>(below(3))), block);
    } else {
      block();
    }
    reachable_ = outer;
  }
  Value inside(std::uint32_t b) {
    if (chance(50)) return t_.op(Opcode::lt, t_.boolean, {position_, lengths_[b]});
    if (chance(50)) return t_.op(Opcode::gt, t_.boolean, {lengths_[b], position_});
    return t_.op(Opcode::bit_not, t_.boolean,
                 {t_.op(Opcode::ge, t_.boolean, {position_, lengths_[b]})});
  }

  void statements(std::uint64_t count, int loops, bool may_return) {
    for (std::uint64_t i = 0; i < count; ++i) statement(loops, may_return);
  }

  void statement(int loops, bool may_return) {
    const std::uint64_t kind = below(100);
    if (kind < 45) return lanewise();
    if (kind < 53) return lanes();
    if (kind < 58) return declare();
    if (kind < 68) return assign();
    if (kind < 76) return read_variable();
    if (kind < 86) return reachable_ ? access() : lanewise();
    if (depth_ >= 3) return lanewise();
    ++depth_;
    if (kind < 93) {
      branch(loops, may_return);
    } else if (kind < 97) {
      counted_loop(may_return);
    } else {
      open_loop(may_return);
    }
    --depth_;
  }

  void declare() {
    const Type type = random_type();
    const Value v = t_.op(Opcode::slot, type);
    t_.op(Opcode::slot_store, {}, {v, value(type)});
    slots_.push_back(v);
  }
  void assign() {
    if (slots_.empty()) return declare();
    const Value v = pick(slots_);
    t_.op(Opcode::slot_store, {}, {v, value(t_.k.op(v).type)});
  }
  void read_variable() {
    if (slots_.empty()) return declare();
    const Value v = pick(slots_);
    made(t_.op(Opcode::slot_load, t_.k.op(v).type, {v}));
  }

  void access() {
    switch (below(5)) {
      case 0:
        made(t_.load(memory_[0], {position_}));
        break;
      case 1:
        made(t_.load(memory_[1], {position_}));
        break;
      case 2: {
        const std::uint32_t b = chance(70) ? 0 : 1;
        Value at = position_;
        if (b == 0) at = t_.op(Opcode::add, t_.index, {position_, small(Elem::index)});
        masked(b, at);
        break;
      }
      case 3:
        store_own(1);
        break;
      default:
        store_own(2);
    }
  }
  void masked(std::uint32_t b, Value at) {
    const bool checked = std::exchange(t_.checked, false);
    const Value other = value(t_.k.bindings[b].type);
    made(t_.load(memory_[b], {at, other}, Opcode::load_or));
    t_.checked = checked;
  }
  void store_own(std::uint32_t b) {
    t_.store(memory_[b], {position_}, value(t_.k.bindings[b].type));
  }

  void branch(int loops, bool may_return) {
    const auto side = [&] {
      scoped([&] {
        statements(1 + below(5), loops, may_return);
        if (loops > 0 && chance(20)) {
          t_.op(Opcode::break_, {});
        } else if (may_return && chance(6)) {
          t_.op(Opcode::return_, {});
        }
      });
    };
    const Value condition = scalar_value(Elem::boolean);
    if (chance(50)) {
      t_.if_(condition, side, side);
    } else {
      t_.if_(condition, side);
    }
  }

  void counted_loop(bool may_return) {
    const Elem elem = pick(std::array{Elem::i32, Elem::u32, Elem::index});
    const Value from = small(elem), to = small(elem);
    Value step = t_.constant(elem, 1 + below(3));
    if (elem == Elem::i32 && chance(30)) step = t_.constant(elem, 0xffffffffu - below(2));
    t_.for_(from, to, step, [&](Value i) {
      scoped([&] {
        made(elem == Elem::index ? t_.op(Opcode::cast, t_.u32, {i}) : i);
        statements(1 + below(5), 1, may_return);
      });
    });
  }

  // The counter is no variable that statements know, so it only grows.
  void open_loop(bool may_return) {
    const Value counter = t_.op(Opcode::slot, t_.u32);
    const Value zero = t_.constant(Elem::u32, 0);
    t_.op(Opcode::slot_store, {}, {counter, zero});
    const Value rounds = small(Elem::u32);
    t_.loop([&] {
      scoped([&] {
        const Value n = made(t_.op(Opcode::slot_load, t_.u32, {counter}));
        t_.op(Opcode::break_unless, {}, {t_.op(Opcode::lt, t_.boolean, {n, rounds})});
        const Value one = t_.constant(Elem::u32, 1);
        t_.op(Opcode::slot_store, {}, {counter, t_.op(Opcode::add, t_.u32, {n, one})});
        statements(1 + below(5), 1, may_return);
        if (chance(30)) t_.op(Opcode::break_unless, {}, {scalar_value(Elem::boolean)});
      });
    });
  }

  // ---- shared memory --------------------------------------------------------------------------

  // Work of each unit, then an exchange between the units of the cube, in flow that is the same
  // for all of them.
  void uniform_phase() {
    const auto phase = [&] {
      reachable_ = false;
      statements(2 + below(6), 0, false);
      if (chance(60)) guarded([&] { statements(2 + below(6), 0, false); });
      exchange();
    };
    const std::uint64_t kind = below(4);
    if (kind == 0) {
      const Value limit = t_.constant(Elem::u32, 2);
      t_.if_(t_.op(Opcode::lt, t_.boolean, {uniform_.front(), limit}), [&] { scoped(phase); });
    } else if (kind == 1) {
      const Value zero = t_.constant(Elem::u32, 0), one = t_.constant(Elem::u32, 1);
      const Value mask = t_.constant(Elem::u32, 3);
      const Value end = t_.op(Opcode::bit_and, t_.u32, {uniform_.front(), mask});
      t_.for_(zero, end, one, [&](Value i) {
        scoped([&] {
          made(i);
          phase();
        });
      });
    } else {
      phase();
    }
  }

  void exchange() {
    t_.store(shared_, {unit_}, value(t_.k.shared[0].type));
    const std::uint32_t count = t_.k.units[0];
    if (chance(40)) {
      made(t_.load(shared_, {t_.idx(below(count))}, Opcode::uniform_load));
    } else {
      t_.sync();
    }
    const Value shifted = t_.op(Opcode::add, t_.index, {unit_, t_.idx(1 + below(count))});
    made(t_.load(shared_, {t_.op(Opcode::rem, t_.index, {shifted, t_.idx(count)})}));
    t_.sync();
  }

  std::uint64_t state_;
  TestKernel t_;
  bool with_shared_ = false;
  Guard guard_ = Guard::branch;
  bool reachable_ = false;  // whether buffers may be touched here
  int depth_ = 0;

  std::array<MemoryRef, 3> memory_{};
  MemoryRef shared_{};
  Value position_ = none, unit_ = none;
  std::array<Value, 3> lengths_{};
  std::vector<Value> uniform_;
  std::vector<Value> pool_;   // visible values of the language's types
  std::vector<Value> slots_;  // visible variables
};

}  // namespace

Kernel random_kernel(std::uint64_t seed) {
  return Generator(seed).build();
}

}  // namespace tessera::ir
