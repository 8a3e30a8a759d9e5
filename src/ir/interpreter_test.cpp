// SPDX-License-Identifier: MIT OR Apache-2.0
#include "ir/interpreter.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <numeric>
#include <vector>

#include "ir/test_kernel.hpp"

namespace tessera::ir {
namespace {

using T = TestKernel;

template <class E>
struct Data {
  explicit Data(std::size_t n) : values(n), written(n * sizeof(E), 1) {
    std::memset(values.data(), 0xCD, n * sizeof(E));
  }
  static Data unwritten(std::size_t n) {
    Data data(n);
    data.written.assign(data.written.size(), 0);
    return data;
  }
  explicit Data(std::vector<E> v) : values(std::move(v)), written(values.size() * sizeof(E), 1) {}
  std::vector<E> values;
  std::vector<std::uint8_t> written;
  BufferView view() { return {std::as_writable_bytes(std::span(values)), written}; }
};

RunOptions cubes(std::uint32_t n) {
  RunOptions o;
  o.cubes = {n, 1, 1};
  o.find_races = o.find_unwritten = true;
  return o;
}

RunOutcome must(Result<RunOutcome> r) {
  EXPECT_TRUE(r.has_value()) << (r ? "" : r.error().message());
  return r ? *r : RunOutcome{};
}

bool holds(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    if (text.find(part) == std::string::npos) return false;
  }
  return true;
}

TEST(Interpreter, AddsTwoBuffersOverSeveralCubes) {
  T t(4);
  const auto a = t.binding("a", T::f32, Access::in), b = t.binding("b", T::f32, Access::out);
  const Value i = t.builtin(Builtin::absolute_pos);
  const Value n = t.op(Opcode::length, T::index, {}, 1);
  t.if_(t.op(Opcode::lt, T::boolean, {i, n}), [&] {
    const Value x = t.load(a, {i});
    t.store(b, {i}, t.op(Opcode::add, T::f32, {x, x}));
  });
  Data<float> in({1, 2, 3, 4, 5, 6}), out = Data<float>::unwritten(6);
  const BufferView views[] = {in.view(), out.view()};
  const auto r = must(run(t.k, views, words({}, {6, 6}), cubes(2)));
  EXPECT_EQ(out.values, (std::vector<float>{2, 4, 6, 8, 10, 12}));
  EXPECT_FALSE(r.fault);
  EXPECT_TRUE(r.findings.empty());
  EXPECT_EQ(r.observed, (std::vector<Access>{Access::in, Access::out}));
  EXPECT_EQ(out.written, std::vector<std::uint8_t>(24, 1));
  EXPECT_GT(r.executed, 0u);
}

// One store a built-in, at unit * 20 + b.
TEST(Interpreter, BuiltinsCountXFastest) {
  T t;
  t.k.units = {2, 3, 1};
  const auto out = t.binding("out", T::index, Access::out);
  t.k.bindings[0].type = T::u32;
  const Value unit = t.builtin(Builtin::absolute_pos);
  for (std::uint32_t b = 0; b < detail::builtin_count; ++b) {
    const Value at =
        t.op(Opcode::add, T::index, {t.op(Opcode::mul, T::index, {unit, t.idx(20)}), t.idx(b)});
    t.store(out, {at}, t.op(Opcode::cast, T::u32, {t.builtin(static_cast<Builtin>(b))}));
  }
  const std::uint32_t units = 4 * 3 * 2 * 1;  // 2×1×2 cubes of 2×3×1 units
  Data<std::uint32_t> data(units * 20);
  RunOptions o;
  o.cubes = {2, 1, 2};
  const BufferView views[] = {data.view()};
  must(run(t.k, views, words({}, {data.values.size()}), o));
  for (std::uint32_t z = 0; z < 2; ++z) {
    for (std::uint32_t y = 0; y < 3; ++y) {
      for (std::uint32_t x = 0; x < 4; ++x) {
        const std::uint32_t pos = x + 4 * (y + 3 * z);
        const std::uint32_t want[] = {
            x % 2, y, 0,  x % 2 + 2 * y, x / 2, 0, z, x / 2 + 2 * z, 2, 3, 1, 6, 2, 1, 2, 4, x,
            y,     z, pos};
        for (int b = 0; b < detail::builtin_count; ++b) {
          EXPECT_EQ(data.values[pos * 20 + b], want[b]) << b;
        }
      }
    }
  }
}

TEST(Interpreter, ControlFlowWithMasks) {
  // Collatz steps per unit: a data-dependent loop with slots; odd units of an if return early.
  T t(8);
  const auto out = t.binding("out", T::u32, Access::out);
  const Value i = t.builtin(Builtin::unit_pos);
  const Value u = t.op(Opcode::cast, T::u32, {i});
  const Value zero = t.constant(Elem::u32, 0), one = t.constant(Elem::u32, 1),
              two = t.constant(Elem::u32, 2), three = t.constant(Elem::u32, 3);
  const Value x = t.op(Opcode::slot, T::u32), n = t.op(Opcode::slot, T::u32);
  t.op(Opcode::slot_store, T::nothing, {x, t.op(Opcode::add, T::u32, {u, one})});
  t.if_(t.op(Opcode::eq, T::boolean, {u, three}), [&] {
    t.store(out, {i}, t.constant(Elem::u32, 99));
    t.op(Opcode::return_, T::nothing);
  });
  t.loop([&] {
    const Value now = t.op(Opcode::slot_load, T::u32, {x});
    t.op(Opcode::break_unless, T::nothing, {t.op(Opcode::ne, T::boolean, {now, one})});
    const Value odd = t.op(Opcode::eq, T::boolean, {t.op(Opcode::rem, T::u32, {now, two}), one});
    t.if_(
        odd,
        [&] {
          const Value tripled = t.op(Opcode::mul, T::u32, {now, three});
          t.op(Opcode::slot_store, T::nothing, {x, t.op(Opcode::add, T::u32, {tripled, one})});
        },
        [&] { t.op(Opcode::slot_store, T::nothing, {x, t.op(Opcode::div, T::u32, {now, two})}); });
    const Value count = t.op(Opcode::slot_load, T::u32, {n});
    t.op(Opcode::slot_store, T::nothing, {n, t.op(Opcode::add, T::u32, {count, one})});
  });
  t.store(out, {i}, t.op(Opcode::slot_load, T::u32, {n}));
  (void)zero;
  Data<std::uint32_t> data(8);
  const BufferView views[] = {data.view()};
  const auto r = must(run(t.k, views, words({}, {8}), cubes(1)));
  EXPECT_EQ(data.values, (std::vector<std::uint32_t>{0, 1, 7, 99, 5, 8, 16, 3}));
  EXPECT_TRUE(r.findings.empty());
}

TEST(Interpreter, BreakLeavesTheInnermostLoop) {
  T t(4);
  const auto out = t.binding("out", T::u32, Access::out);
  const Value i = t.builtin(Builtin::unit_pos), one = t.idx(1);
  const Value total = t.op(Opcode::slot, T::index);
  t.for_(t.idx(0), t.idx(3), one, [&](Value) {
    const Value k = t.op(Opcode::slot, T::index);  // fresh in every iteration
    t.loop([&] {
      const Value now = t.op(Opcode::slot_load, T::index, {k});
      t.if_(t.op(Opcode::ge, T::boolean, {now, i}), [&] { t.op(Opcode::break_, T::nothing); });
      t.op(Opcode::slot_store, T::nothing, {k, t.op(Opcode::add, T::index, {now, one})});
      const Value sum = t.op(Opcode::slot_load, T::index, {total});
      t.op(Opcode::slot_store, T::nothing, {total, t.op(Opcode::add, T::index, {sum, one})});
    });
  });
  t.store(out, {i}, t.op(Opcode::cast, T::u32, {t.op(Opcode::slot_load, T::index, {total})}));
  Data<std::uint32_t> data(4);
  const BufferView views[] = {data.view()};
  must(run(t.k, views, words({}, {4}), cubes(1)));
  EXPECT_EQ(data.values, (std::vector<std::uint32_t>{0, 3, 6, 9}));
}

TEST(Interpreter, ReturnInsideLoopsEndsTheUnit) {
  // Unit u returns in iteration u of a for_ that holds a loop; nobody is left to store.
  T t(4);
  const auto out = t.binding("out", T::u32, Access::inout);
  const Value i = t.builtin(Builtin::unit_pos), one = t.constant(Elem::u32, 1);
  t.for_(t.idx(0), t.idx(3), t.idx(1), [&](Value k) {
    t.loop([&] {
      t.if_(t.op(Opcode::eq, T::boolean, {k, i}), [&] { t.op(Opcode::return_, T::nothing); });
      t.store(out, {i}, t.op(Opcode::add, T::u32, {t.load(out, {i}), one}));
      t.op(Opcode::break_, T::nothing);
    });
    t.store(out, {i}, t.op(Opcode::add, T::u32, {t.load(out, {i}), one}));
  });
  t.store(out, {i}, t.op(Opcode::add, T::u32, {t.load(out, {i}), t.constant(Elem::u32, 100)}));
  Data<std::uint32_t> data({0, 0, 0, 0});
  const BufferView views[] = {data.view()};
  const auto r = must(run(t.k, views, words({}, {4}), cubes(1)));
  EXPECT_EQ(data.values, (std::vector<std::uint32_t>{0, 2, 4, 106}));
  EXPECT_TRUE(r.findings.empty());
}

TEST(Interpreter, BreakLeavesAForForGood) {
  T t(4);
  const auto out = t.binding("out", T::u32, Access::inout);
  const Value i = t.builtin(Builtin::unit_pos), one = t.constant(Elem::u32, 1);
  t.for_(t.idx(0), t.idx(3), t.idx(1), [&](Value k) {
    t.if_(t.op(Opcode::eq, T::boolean, {k, i}), [&] { t.op(Opcode::break_, T::nothing); });
    t.store(out, {i}, t.op(Opcode::add, T::u32, {t.load(out, {i}), one}));
  });
  Data<std::uint32_t> data({0, 0, 0, 0});
  const BufferView views[] = {data.view()};
  must(run(t.k, views, words({}, {4}), cubes(1)));
  EXPECT_EQ(data.values, (std::vector<std::uint32_t>{0, 1, 2, 3}));
}

// Runs for_ over run-time bounds; out[0] counts trips, out[1] holds the last value.
std::vector<std::int64_t> trips(Elem elem, std::uint64_t begin, std::uint64_t end,
                                std::uint64_t step) {
  T t;
  const auto out = t.binding("out", {Elem::i64, 1}, Access::out);
  const Value b = t.scalar("b", elem), e = t.scalar("e", elem), s = t.scalar("s", elem);
  const Value one = t.constant(Elem::i64, 1);
  const Value n = t.op(Opcode::slot, {Elem::i64, 1}), last = t.op(Opcode::slot, {Elem::i64, 1});
  t.for_(b, e, s, [&](Value k) {
    const Value now = t.op(Opcode::slot_load, {Elem::i64, 1}, {n});
    t.op(Opcode::slot_store, T::nothing, {n, t.op(Opcode::add, {Elem::i64, 1}, {now, one})});
    t.op(Opcode::slot_store, T::nothing, {last, t.op(Opcode::cast, {Elem::i64, 1}, {k})});
  });
  t.store(out, {t.idx(0)}, t.op(Opcode::slot_load, {Elem::i64, 1}, {n}));
  t.store(out, {t.idx(1)}, t.op(Opcode::slot_load, {Elem::i64, 1}, {last}));
  Data<std::int64_t> data(2);
  const BufferView views[] = {data.view()};
  must(run(t.k, views, words({begin, end, step}, {2}), cubes(1)));
  return data.values;
}

TEST(Interpreter, TripCountsAreFixedAndNeverWrap) {
  using V = std::vector<std::int64_t>;
  const auto i = [](std::int32_t x) { return std::uint64_t{static_cast<std::uint32_t>(x)}; };
  EXPECT_EQ(trips(Elem::i32, 0, 10, 3), (V{4, 9}));
  EXPECT_EQ(trips(Elem::i32, 10, 0, 1), (V{0, 0}));
  EXPECT_EQ(trips(Elem::i32, 10, 0, i(-3)), (V{4, 1}));
  EXPECT_EQ(trips(Elem::i32, 0, 10, i(-1)), (V{0, 0}));
  EXPECT_EQ(trips(Elem::i32, 0, 10, 0), (V{0, 0}));
  EXPECT_EQ(trips(Elem::u32, 0, 10, 0), (V{0, 0}));
  EXPECT_EQ(trips(Elem::i32, i(INT32_MAX - 5), i(INT32_MAX), 4), (V{2, INT32_MAX - 1}));
  EXPECT_EQ(trips(Elem::u32, 0xFFFFFFF0, 0xFFFFFFFF, 8), (V{2, 0xFFFFFFF8}));
  EXPECT_EQ(trips(Elem::u8, 250, 255, 4), (V{2, 254}));
  EXPECT_EQ(trips(Elem::i8, 0x80, 0x7F, 100), (V{3, 72}));
  EXPECT_EQ(trips(Elem::i32, i(INT32_MIN), i(INT32_MAX), i(INT32_MAX)), (V{3, INT32_MAX - 1}));
}

TEST(Interpreter, VectorsKeepTheirLanesApart) {
  T t(2);
  const Type v4{Elem::f32, 4}, b4{Elem::boolean, 4};
  const auto a = t.binding("a", v4, Access::inout);
  const Value i = t.builtin(Builtin::unit_pos);
  const Value x = t.load(a, {i});
  const Value third = t.op(Opcode::extract, T::f32, {x}, 2);
  const Value all = t.op(Opcode::splat, v4, {third});
  const Value less = t.op(Opcode::lt, b4, {x, all});
  const Value chosen = t.op(Opcode::select, v4, {less, x, t.op(Opcode::neg, v4, {all})});
  const Value marked = t.op(Opcode::insert, v4,
                            {chosen, t.constant(Elem::f32, std::bit_cast<std::uint32_t>(7.0f))}, 3);
  t.store(a, {i}, marked);
  Data<float> data({1, 5, 3, 0, -1, -5, -3, 0});
  const BufferView views[] = {data.view()};
  must(run(t.k, views, words({}, {2}), cubes(1)));
  EXPECT_EQ(data.values, (std::vector<float>{1, -3, -3, 7, 3, -5, 3, 7}));
}

TEST(Interpreter, OutsideAccessesFaultAndReadZero) {
  T t(4);
  const auto a = t.binding("a", T::u32, Access::in), b = t.binding("b", T::u32, Access::out);
  const Value i = t.builtin(Builtin::unit_pos);
  const Value x = t.load(a, {t.op(Opcode::add, T::index, {i, t.idx(1)})});
  t.store(b, {t.op(Opcode::mul, T::index, {i, t.idx(2)})}, x);
  Data<std::uint32_t> in({10, 20, 30}), out(5);
  // The real bytes go on past the length: the length decides.
  const BufferView views[] = {in.view(), out.view()};
  const auto r = must(run(t.k, views, words({}, {3, 4}), cubes(1)));
  ASSERT_TRUE(r.fault);
  EXPECT_EQ(r.fault->site, 0u);
  EXPECT_EQ(r.fault->index, 3u);
  EXPECT_EQ(out.values, (std::vector<std::uint32_t>{20, 0xCDCDCDCD, 30, 0xCDCDCDCD, 0xCDCDCDCD}));
}

TEST(Interpreter, FaultIndexOfNegativeCoordinatesHasIndexWidth) {
  for (bool wide : {false, true}) {
    T t;
    const auto a = t.binding("a", T::u32, Access::out);
    t.store(a, {t.constant(Elem::i32, 0xFFFFFFFF)}, t.constant(Elem::u32, 1));
    Data<std::uint32_t> data(4);
    const BufferView views[] = {data.view()};
    RunOptions o;
    o.wide_index = wide;
    const auto r = must(run(t.k, views, words({}, {4}), o));
    ASSERT_TRUE(r.fault);
    EXPECT_EQ(r.fault->index, wide ? ~std::uint64_t{0} : 0xFFFFFFFFu);
  }
}

TEST(Interpreter, A64BitCoordinateIsNotCut) {
  T t;
  const auto a = t.binding("a", T::u32, Access::out);
  t.store(a, {t.constant(Elem::i64, std::uint64_t{1} << 32)}, t.constant(Elem::u32, 1));
  Data<std::uint32_t> data(4);
  const BufferView views[] = {data.view()};
  const auto r = must(run(t.k, views, words({}, {4}), cubes(1)));
  ASSERT_TRUE(r.fault);
  EXPECT_EQ(data.values[0], 0xCDCDCDCD);
}

TEST(Interpreter, TensorsCheckEveryCoordinate) {
  // A 2×3 view with a row stride of 5: (0, 3) is inside the bytes and outside the shape.
  T t;
  const auto a = t.binding("a", T::u32, Access::inout, 2);
  const Value one = t.idx(1), three = t.idx(3), zero = t.idx(0);
  t.store(a, {one, t.idx(2)}, t.constant(Elem::u32, 77));
  const Value x = t.load(a, {zero, three});
  t.store(a, {zero, zero}, x);
  Data<std::uint32_t> data(std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6, 7, 8});
  const BufferView views[] = {data.view()};
  const std::vector<std::uint64_t> p{8, 2, 3, 5, 1};
  const auto r = must(run(t.k, views, p, cubes(1)));
  ASSERT_TRUE(r.fault);
  EXPECT_EQ(r.fault->index, pack_coordinates(0, 3));
  EXPECT_EQ(r.fault->site, 1u);
  EXPECT_EQ(data.values, (std::vector<std::uint32_t>{0, 2, 3, 4, 5, 6, 7, 77}));
}

TEST(Interpreter, FaultIndexOfThreeAxesIsRowMajor) {
  T t;
  const auto a = t.binding("a", T::u32, Access::out, 3);
  t.store(a, {t.idx(1), t.idx(2), t.idx(9)}, t.constant(Elem::u32, 1));
  Data<std::uint32_t> data(24);
  const BufferView views[] = {data.view()};
  const auto r = must(run(t.k, views, std::vector<std::uint64_t>{24, 2, 3, 4, 12, 4, 1}, cubes(1)));
  ASSERT_TRUE(r.fault);
  EXPECT_EQ(r.fault->index, 1u * 12 + 2 * 4 + 9);
}

TEST(Interpreter, UncheckedAccessesNeverLeaveTheBytes) {
  T t(4);
  t.k.checked = false;
  const auto a = t.binding("a", T::u32, Access::inout);
  const Value far = t.op(Opcode::add, T::index, {t.builtin(Builtin::unit_pos), t.idx(0xFFFFFFF0)});
  t.store(a, {far}, t.constant(Elem::u32, 1));
  t.store(a, {t.builtin(Builtin::unit_pos)}, t.load(a, {far}));
  Data<std::uint32_t> data(4);
  const BufferView views[] = {data.view()};
  const auto r = must(run(t.k, views, words({}, {4}), cubes(1)));
  EXPECT_FALSE(r.fault);
  EXPECT_EQ(data.values, std::vector<std::uint32_t>(4, 0));
}

TEST(Interpreter, UncheckedAccessesGoByTheBytes) {
  // Outside the shape, inside the bytes: without checks that is what the address says.
  T t;
  t.k.checked = false;
  const auto a = t.binding("a", T::u32, Access::inout, 2);
  t.store(a, {t.idx(1), t.idx(0)}, t.load(a, {t.idx(0), t.idx(3)}));
  Data<std::uint32_t> data({1, 2, 3, 4, 5, 6, 7, 8});
  const BufferView views[] = {data.view()};
  must(run(t.k, views, std::vector<std::uint64_t>{8, 2, 3, 5, 1}, cubes(1)));
  EXPECT_EQ(data.values, (std::vector<std::uint32_t>{1, 2, 3, 4, 5, 4, 7, 8}));
}

TEST(Interpreter, MaskedLoadNeverFaults) {
  T t(4);
  const auto a = t.binding("a", T::u32, Access::in), b = t.binding("b", T::u32, Access::out);
  const Value i = t.builtin(Builtin::unit_pos);
  t.store(b, {i}, t.op(Opcode::load_or, T::u32, {i, t.constant(Elem::u32, 5)}, detail::pack(a)));
  Data<std::uint32_t> in({1, 2}), out(4);
  const BufferView views[] = {in.view(), out.view()};
  const auto r = must(run(t.k, views, words({}, {2, 4}), cubes(1)));
  EXPECT_FALSE(r.fault);
  EXPECT_EQ(out.values, (std::vector<std::uint32_t>{1, 2, 5, 5}));
}

TEST(Interpreter, ChecksFaultWithTheAbsolutePosition) {
  T t(4);
  const Value i = t.builtin(Builtin::absolute_pos);
  t.check(t.op(Opcode::ne, T::boolean, {i, t.idx(6)}), "not six");
  const auto r = must(run(t.k, {}, {}, cubes(3)));
  ASSERT_TRUE(r.fault);
  EXPECT_EQ(r.fault->index, 6u);
  EXPECT_EQ(r.fault->site, 0u);
}

TEST(Interpreter, CheckPositionsCountAllAxes) {
  T t;
  t.k.units = {2, 3, 2};
  t.check(t.op(Opcode::ne, T::boolean, {t.builtin(Builtin::absolute_pos), t.idx(151)}), "");
  RunOptions o;
  o.cubes = {3, 2, 3};
  const auto r = must(run(t.k, {}, {}, o));
  ASSERT_TRUE(r.fault);
  EXPECT_EQ(r.fault->index, 151u);
}

// A loop that a fault alone can end: every iteration reads a flag that stays zero.
Kernel waiting(bool barrier) {
  T t(2);
  const auto a = t.binding("a", T::u32, Access::in), b = t.binding("b", T::u32, Access::out);
  const Value i = t.builtin(Builtin::unit_pos), zero = t.constant(Elem::u32, 0);
  t.loop([&] {
    const Value x = t.load(a, {t.op(Opcode::mul, T::index, {i, t.idx(100)})});
    if (barrier) {
      t.sync();
    } else {
      // Unit 0 leaves by itself; unit 1 faults in the load.
      t.op(Opcode::break_unless, T::nothing, {t.op(Opcode::eq, T::boolean, {i, t.idx(1)})});
    }
    t.op(Opcode::break_unless, T::nothing, {t.op(Opcode::eq, T::boolean, {x, zero})});
  });
  t.store(b, {i}, t.constant(Elem::u32, 3));
  return t.k;
}

TEST(Interpreter, AFaultedUnitLeavesLoopsAndGoesOn) {
  for (bool barrier : {false, true}) {
    Data<std::uint32_t> in({0, 0}), out(2);
    const BufferView views[] = {in.view(), out.view()};
    const auto r = must(run(waiting(barrier), views, words({}, {2, 2}), cubes(1)));
    ASSERT_TRUE(r.fault);
    EXPECT_EQ(r.fault->index, 100u);
    EXPECT_EQ(out.values, (std::vector<std::uint32_t>{3, 3}));
    EXPECT_TRUE(r.findings.empty());
  }
}

TEST(Interpreter, EndlessLoopsAreGivenUp) {
  T t;
  t.loop([&] { t.op(Opcode::slot, T::u32); });
  const auto r = run(t.k, {}, {}, cubes(1));
  ASSERT_FALSE(r.has_value());
  EXPECT_EQ(r.error().kind(), ErrorKind::LaunchFailed);
  EXPECT_TRUE(holds(r.error().message(), {"test.k:1", "'test'"})) << r.error().message();
}

TEST(Interpreter, AtomicsGiveTheOldValue) {
  T t(8);
  const auto a = t.binding("a", T::i32, Access::inout), old = t.binding("old", T::i32, Access::out);
  const Value i = t.builtin(Builtin::unit_pos);
  const Value x = t.op(Opcode::cast, T::i32, {i});
  t.store(old, {i}, t.atomic(Opcode::atomic_add, a, {t.idx(0), x}));
  t.atomic(Opcode::atomic_sub, a, {t.idx(1), x});
  t.atomic(Opcode::atomic_min, a, {t.idx(2), t.op(Opcode::neg, T::i32, {x})});
  t.atomic(Opcode::atomic_max, a, {t.idx(3), x});
  t.atomic(Opcode::atomic_and, a, {t.idx(4), t.op(Opcode::bit_not, T::i32, {x})});
  t.atomic(Opcode::atomic_or, a, {t.idx(5), x});
  t.atomic(Opcode::atomic_xor, a, {t.idx(6), x});
  t.atomic(Opcode::atomic_cas, a,
           {t.idx(7), x, t.op(Opcode::add, T::i32, {x, t.constant(Elem::i32, 1)})});
  t.atomic(Opcode::atomic_store, a, {t.idx(8), t.atomic(Opcode::atomic_load, a, {t.idx(9)})});
  t.atomic(Opcode::atomic_exchange, a, {t.idx(10), x});
  t.atomic(Opcode::atomic_add, a, {t.idx(11), x});  // outside
  Data<std::int32_t> data({0, 0, 0, -5, -1, 0, 1, 2, 0, 44, -1}), olds(8);
  const BufferView views[] = {data.view(), olds.view()};
  const auto r = must(run(t.k, views, words({}, {11, 8}), cubes(1)));
  EXPECT_EQ(data.values, (std::vector<std::int32_t>{28, -28, -7, 7, -8, 7, 1, 8, 44, 44, 7}));
  EXPECT_EQ(olds.values, (std::vector<std::int32_t>{0, 0, 1, 3, 6, 10, 15, 21}));
  ASSERT_TRUE(r.fault);
  EXPECT_EQ(r.fault->index, 11u);
  EXPECT_TRUE(r.findings.empty()) << r.findings[0].message;
}

// out[i] = shared[n - 1 - i] after shared[i] = i, with or without the barrier between.
Kernel reversal(bool barrier) {
  T t(8);
  const auto out = t.binding("out", T::u32, Access::out);
  const auto tile = t.shared(T::u32, 8);
  const Value i = t.builtin(Builtin::unit_pos);
  t.store(tile, {i}, t.op(Opcode::cast, T::u32, {i}));
  if (barrier) t.sync();
  t.store(out, {i}, t.load(tile, {t.op(Opcode::sub, T::index, {t.idx(7), i})}));
  return t.k;
}

TEST(Interpreter, SharedMemoryNeedsBarriers) {
  Data<std::uint32_t> data(8);
  const BufferView views[] = {data.view()};
  RunOptions o = cubes(2);
  auto r = must(run(reversal(true), views, words({}, {8}), [&] {
    RunOptions one = o;
    one.cubes = {1, 1, 1};
    return one;
  }()));
  EXPECT_TRUE(r.findings.empty());
  EXPECT_EQ(data.values, (std::vector<std::uint32_t>{7, 6, 5, 4, 3, 2, 1, 0}));
  o.cubes = {1, 1, 1};
  r = must(run(reversal(false), views, words({}, {8}), o));
  ASSERT_EQ(r.findings.size(), 1u);
  EXPECT_EQ(r.findings[0].kind, FindingKind::race);
  EXPECT_TRUE(holds(r.findings[0].message,
                    {"'test'", "shared block 0", "element 7", "unit (0, 0, 0)", "unit (7, 0, 0)",
                     "cube (0, 0, 0)", "reads", "writes", "test.k:"}))
      << r.findings[0].message;
}

TEST(Interpreter, CubesRaceOnGlobalMemory) {
  Data<std::uint32_t> data(8);
  const BufferView views[] = {data.view()};
  const auto r = must(run(reversal(true), views, words({}, {8}), cubes(2)));
  ASSERT_EQ(r.findings.size(), 1u);
  EXPECT_TRUE(holds(r.findings[0].message,
                    {"binding 0 ('out')", "element 0", "cube (1, 0, 0)", "cube (0, 0, 0)"}))
      << r.findings[0].message;
}

TEST(Interpreter, BarriersOrderGlobalMemoryInACube) {
  for (bool barrier : {false, true}) {
    T t(4);
    const auto a = t.binding("a", T::u32, Access::inout);
    const Value i = t.builtin(Builtin::unit_pos);
    t.store(a, {i}, t.op(Opcode::cast, T::u32, {i}));
    if (barrier) t.sync();
    const Value x = t.load(a, {t.op(Opcode::bit_xor, T::index, {i, t.idx(1)})});
    if (barrier) t.sync();
    t.store(a, {i}, x);
    Data<std::uint32_t> data(4);
    const BufferView views[] = {data.view()};
    const auto r = must(run(t.k, views, words({}, {4}), cubes(1)));
    EXPECT_EQ(r.findings.empty(), barrier);
  }
}

TEST(Interpreter, PlainAndAtomicAccessesConflict) {
  for (bool plain : {false, true}) {
    T t(4);
    const auto a = t.binding("a", T::u32, Access::inout);
    t.atomic(Opcode::atomic_add, a, {t.idx(0), t.constant(Elem::u32, 1)});
    if (plain) {
      t.if_(t.op(Opcode::eq, T::boolean, {t.builtin(Builtin::unit_pos), t.idx(0)}),
            [&] { t.store(a, {t.idx(0)}, t.constant(Elem::u32, 9)); });
    }
    Data<std::uint32_t> data(std::vector<std::uint32_t>{0});
    const BufferView views[] = {data.view()};
    const auto r = must(run(t.k, views, words({}, {1}), cubes(2)));
    EXPECT_EQ(r.findings.empty(), !plain);
  }
}

TEST(Interpreter, AliasesOfOtherElementSizesRace) {
  T t(2);
  const auto a = t.binding("a", {Elem::u32, 2}, Access::in),
             b = t.binding("b", T::u32, Access::out);
  const Value i = t.builtin(Builtin::unit_pos);
  // Unit 0 reads bytes 0 to 7, unit 1 writes bytes 4 to 7.
  t.if_(
      t.op(Opcode::eq, T::boolean, {i, t.idx(0)}), [&] { t.load(a, {t.idx(0)}); },
      [&] { t.store(b, {t.idx(1)}, t.constant(Elem::u32, 1)); });
  Data<std::uint32_t> data(std::vector<std::uint32_t>{1, 2});
  const BufferView views[] = {data.view(), data.view()};
  const auto r = must(run(t.k, views, words({}, {1, 2}), cubes(1)));
  ASSERT_EQ(r.findings.size(), 1u);
  EXPECT_EQ(r.findings[0].kind, FindingKind::race);
}

TEST(Interpreter, AliasesOfOtherElementSizesDoNotRaceOnNeighbours) {
  T t(2);
  const auto a = t.binding("a", {Elem::u32, 2}, Access::in),
             b = t.binding("b", T::u32, Access::out);
  t.store(b, {t.builtin(Builtin::unit_pos)}, t.constant(Elem::u32, 1));
  t.sync();
  t.load(a, {t.idx(0)});
  Data<std::uint32_t> data(std::vector<std::uint32_t>{1, 2});
  const BufferView views[] = {data.view(), data.view()};
  EXPECT_TRUE(must(run(t.k, views, words({}, {1, 2}), cubes(1))).findings.empty());
}

TEST(Interpreter, UniformLoadOrdersBothSides) {
  T t(4);
  const auto out = t.binding("out", T::u32, Access::out);
  const auto flag = t.shared(T::u32, 1);
  const Value i = t.builtin(Builtin::unit_pos), first = t.op(Opcode::eq, T::boolean, {i, t.idx(0)});
  t.if_(first, [&] { t.store(flag, {t.idx(0)}, t.constant(Elem::u32, 5)); });
  const Value x = t.load(flag, {t.idx(0)}, Opcode::uniform_load);
  t.if_(first, [&] { t.store(flag, {t.idx(0)}, t.constant(Elem::u32, 6)); });
  t.store(out, {i}, x);
  Data<std::uint32_t> data(4);
  const BufferView views[] = {data.view()};
  const auto r = must(run(t.k, views, words({}, {4}), cubes(1)));
  EXPECT_TRUE(r.findings.empty());
  EXPECT_EQ(data.values, std::vector<std::uint32_t>(4, 5));
}

TEST(Interpreter, UnwrittenReadsAreFound) {
  T t(2);
  const auto a = t.binding("a", T::u32, Access::in), b = t.binding("b", T::u32, Access::out);
  const auto tile = t.shared(T::u32, 4);
  const Value i = t.builtin(Builtin::unit_pos);
  t.store(b, {i}, t.load(a, {i}));
  t.store(b, {i}, t.load(tile, {i}));
  Data<std::uint32_t> in(2), out = Data<std::uint32_t>::unwritten(2);
  in.written[6] = 0;  // one byte of element 1
  const BufferView views[] = {in.view(), out.view()};
  const auto r = must(run(t.k, views, words({}, {2, 2}), cubes(1)));
  ASSERT_EQ(r.findings.size(), 2u);
  EXPECT_EQ(r.findings[0].kind, FindingKind::unwritten_read);
  EXPECT_TRUE(holds(r.findings[0].message, {"binding 0 ('a')", "element 1", "unit (1, 0, 0)"}))
      << r.findings[0].message;
  EXPECT_TRUE(holds(r.findings[1].message, {"shared block 0", "element 0"}));
  EXPECT_EQ(must(run(t.k, views, words({}, {2, 2}), RunOptions{})).findings.size(), 0u);
}

TEST(Interpreter, DivergentBarriersAreFound) {
  for (int how = 0; how < 3; ++how) {
    T t(4);
    const Value some = t.op(Opcode::lt, T::boolean, {t.builtin(Builtin::unit_pos), t.idx(2)});
    if (how == 0) t.if_(some, [&] { t.sync(); });
    if (how == 1) {
      t.if_(some, [&] { t.op(Opcode::return_, T::nothing); });
      t.sync();
    }
    if (how == 2) {
      t.if_(some, [] {});
      t.sync();
    }
    const auto r = must(run(t.k, {}, {}, cubes(1)));
    ASSERT_EQ(r.findings.size(), how == 2 ? 0u : 1u);
    if (how == 2) continue;
    EXPECT_EQ(r.findings[0].kind, FindingKind::divergent_barrier);
    EXPECT_TRUE(holds(r.findings[0].message, {"2 of the 4 units", "test.k:"}))
        << r.findings[0].message;
  }
}

TEST(Interpreter, RegistersAreReusedWithoutMixingValues) {
  // A long chain whose values all stay reachable through one sum at the end, in two regions.
  T t(3);
  const auto out = t.binding("out", T::u32, Access::out);
  const Value i = t.builtin(Builtin::unit_pos);
  const Value u = t.op(Opcode::cast, T::u32, {i});
  std::vector<Value> chain{u};
  for (std::uint32_t n = 1; n <= 20; ++n) {
    chain.push_back(t.op(Opcode::add, T::u32, {chain.back(), t.constant(Elem::u32, n)}));
  }
  const Value keep = t.op(Opcode::mul, T::u32, {u, u});
  t.for_(t.idx(0), t.idx(2), t.idx(1), [&](Value) {
    Value sum = chain[0];
    for (std::size_t n = 1; n < chain.size(); n += 2) {
      sum = t.op(Opcode::add, T::u32, {sum, t.op(Opcode::mul, T::u32, {chain[n], chain[n]})});
    }
    t.store(out, {i}, t.op(Opcode::add, T::u32, {sum, keep}));
  });
  Data<std::uint32_t> data(3);
  const BufferView views[] = {data.view()};
  must(run(t.k, views, words({}, {3}), cubes(1)));
  for (std::uint32_t x = 0; x < 3; ++x) {
    std::uint32_t want = x + x * x, link = x;
    for (std::uint32_t n = 1; n <= 20; ++n) {
      link += n;
      if (n % 2 == 1) want += link * link;
    }
    EXPECT_EQ(data.values[x], want);
  }
}

TEST(Interpreter, ZeroCubesDoNothing) {
  T t;
  const auto a = t.binding("a", T::u32, Access::out);
  t.store(a, {t.idx(0)}, t.constant(Elem::u32, 1));
  Data<std::uint32_t> data(1);
  const BufferView views[] = {data.view()};
  const auto r = must(run(t.k, views, words({}, {1}), cubes(0)));
  EXPECT_EQ(data.values[0], 0xCDCDCDCD);
  EXPECT_EQ(r.observed, std::vector<Access>{Access::none});
}

TEST(Interpreter, WrongArgumentsAreRefused) {
  T t;
  t.binding("a", T::u32, Access::out);
  const auto r = run(t.k, {}, {}, RunOptions{});
  ASSERT_FALSE(r.has_value());
  EXPECT_EQ(r.error().kind(), ErrorKind::InvalidArgument);
}

}  // namespace
}  // namespace tessera::ir
