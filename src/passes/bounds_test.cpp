// SPDX-License-Identifier: MIT OR Apache-2.0
// Which bounds checks go, and which must stay.
#include "passes/bounds.hpp"

#include "lang/test_trace.hpp"
#include "passes/prepare.hpp"
#include "tessera/lang/dollar.hpp"

namespace tessera::lang::testing {
namespace {

template <class F>
passes::CheckCount checks(F function, typename Traced<F>::Stored stored = {},
                          Units units = {8, 1, 1}) {
  auto kernel = traced(function, units, stored);
  if (!kernel) {
    ADD_FAILURE() << kernel.error().message();
    return {99, 99};
  }
  EXPECT_GT(passes::count_checks(*kernel).all, 0u) << "nothing to prove";
  const Status prepared = passes::prepare(*kernel);
  EXPECT_TRUE(prepared) << prepared.error().message();
  EXPECT_EQ(passes::count_checks(*kernel).all > 0, ir::can_fault(*kernel));
  SCOPED_TRACE(ir::print(*kernel));
  return passes::count_checks(*kernel);
}

// ---- buffers --------------------------------------------------------------------------------

void saxpy(In<f32> x, InOut<f32> y, Scalar<f32> a) {
  auto i = ex(absolute_pos);
  $if(i < x.len() && i < y.len()) {
    y[i] = a * x[i] + y[i];
  }
}
TEST(Bounds, GuardedByBothLengths) {
  EXPECT_EQ(checks(&saxpy).all, 0u);
}

void scaled(InOut<f32> x, Scalar<f32> a) {
  $if(x.len() > absolute_pos) {
    x[absolute_pos] *= a;
  }
}
TEST(Bounds, GuardWrittenTheOtherWayRound) {
  EXPECT_EQ(checks(&scaled).all, 0u);
}

void half_guarded(In<f32> x, InOut<f32> y) {
  $if(absolute_pos < x.len()) {
    y[absolute_pos] = x[absolute_pos] + y[absolute_pos];
  }
}
TEST(Bounds, LengthOfAnotherBufferProvesNothing) {
  EXPECT_EQ(checks(&half_guarded).all, 2u);  // load and store of y
}

void early_return(In<f32> x, Out<f32> y) {
  auto i = ex(absolute_pos);
  $if(i >= x.len() || i >= y.len()) {
    $return;
  }
  y[i] = x[i];
}
TEST(Bounds, EarlyReturn) {
  EXPECT_EQ(checks(&early_return).all, 0u);
}

void in_else(In<f32> x, Out<f32> y) {
  auto i = ex(absolute_pos);
  $if(x.len() <= i) {
    y[0] = 1;
  }
  $else {
    y[0] = x[i];
  }
}
TEST(Bounds, ElseOfTheOppositeCondition) {
  EXPECT_EQ(checks(&in_else).all, 2u);  // the stores to y[0]
}

void negated(In<f32> x, Out<f32> y) {
  auto i = ex(absolute_pos);
  $if(!(i >= x.len())) {
    y[0] = x[i];
  }
}
TEST(Bounds, NegatedCondition) {
  EXPECT_EQ(checks(&negated).all, 1u);
}

void off_by_one(In<f32> x, Out<f32> y) {
  auto i = ex(absolute_pos);
  $if(i <= x.len()) {
    y[0] = x[i];
  }
}
void neighbour(In<f32> x, Out<f32> y) {
  auto i = ex(absolute_pos);
  $if(i < x.len()) {
    y[0] = x[i + 1];
  }
}
void either(In<f32> x, Out<f32> y) {
  auto i = ex(absolute_pos);
  $if(i < x.len() || i < y.len()) {
    y[0] = x[i];
  }
}
void after_guard(In<f32> x, Out<f32> y) {
  auto i = ex(absolute_pos);
  $if(i < x.len()) {
    y[0] = 1;
  }
  y[0] = x[i];
}
void not_both(In<f32> x, Out<f32> y) {
  auto i = ex(absolute_pos);
  $if(i >= x.len() && i >= y.len()) {
    $return;
  }
  y[0] = x[i];
}
TEST(Bounds, ConditionsThatDoNotImplyIt) {
  EXPECT_EQ(checks(&off_by_one).all, 2u);
  EXPECT_EQ(checks(&neighbour).all, 2u);
  EXPECT_EQ(checks(&either).all, 2u);
  EXPECT_EQ(checks(&after_guard).all, 3u);
  EXPECT_EQ(checks(&not_both).all, 2u);
}

// The variable has another value where it is used than where it was tested.
void changed_since(In<f32> x, Out<f32> y) {
  Var<Index> i = absolute_pos;
  $if(i < x.len()) {
    i += 1;
    y[0] = x[i];
  }
}
TEST(Bounds, VariableChangedSinceTheTest) {
  EXPECT_EQ(checks(&changed_since).all, 2u);
}

void while_loop(In<f32> x, InOut<f32> y) {
  Var<Index> i = absolute_pos;
  $while(i < x.len() && i < y.len()) {
    y[i] = x[i] + y[i];
    i += cube_count * cube_dim;
  }
}
TEST(Bounds, WhileLoop) {
  EXPECT_EQ(checks(&while_loop).all, 0u);
}

void while_moved(In<f32> x, InOut<f32> y) {
  Var<Index> i = absolute_pos;
  $while(i < y.len()) {
    i += 1;
    y[i] = x[0];
  }
}
TEST(Bounds, WhileLoopThatMovesFirst) {
  const auto n = checks(&while_moved);
  EXPECT_EQ(n.all, 2u);
  EXPECT_EQ(n.in_loops, 2u);
}

void range_loop(In<f32> x, InOut<f32> y) {
  for (auto i : range(absolute_pos, x.len(), cube_count * cube_dim)) {
    $if(i < y.len()) {
      y[i] += x[i];
    }
  }
}
TEST(Bounds, RangeToTheLength) {
  EXPECT_EQ(checks(&range_loop).all, 0u);
}

void break_out(In<f32> x, Out<f32> y) {
  for (auto i : range(Expr<Index>(0), 100)) {
    $if(i >= x.len()) {
      $break;
    }
    y[0] = x[i];
  }
}
TEST(Bounds, BreakBeforeTheEnd) {
  const auto n = checks(&break_out);
  EXPECT_EQ(n.all, 1u);
  EXPECT_EQ(n.in_loops, 1u);
}

void constant_index(In<f32> x, Out<f32> y) {
  $if(x.len() > 3) {
    y[0] = x[3];
  }
}
TEST(Bounds, ConstantIndexOfABuffer) {
  EXPECT_EQ(checks(&constant_index).all, 1u);  // y may be empty
}

// A buffer without elements makes i % 0 = 0, which is outside.
void wrapped(In<f32> x, Out<f32> y) {
  $if(absolute_pos < y.len()) {
    y[absolute_pos] = x[absolute_pos % x.len()];
  }
}
TEST(Bounds, RemainderOfALengthMayBeOutside) {
  EXPECT_EQ(checks(&wrapped).all, 1u);
}

// A signed position below a bound may be negative.
void signed_guard(In<f32> x, Out<f32> y, Scalar<i32> n) {
  $if(n < 8) {
    Shared<f32> s(8);
    s[unit_pos] = x[0];
    sync_cube();
    y[0] = s[cast<Index>(n)];
  }
}
TEST(Bounds, SignedGuardProvesNothing) {
  EXPECT_EQ(checks(&signed_guard).all, 3u);
}

// ---- tensors --------------------------------------------------------------------------------

void transposed(TensorIn<f32> x, TensorOut<f32> y) {
  auto row = ex(absolute_pos.y), column = ex(absolute_pos.x);
  $if(row < x.shape(0) && column < x.shape(1) && column < y.shape(0) && row < y.shape(1)) {
    y(column, row) = x(row, column);
  }
}
void swapped_axes(TensorIn<f32> x, TensorOut<f32> y) {
  auto row = ex(absolute_pos.y), column = ex(absolute_pos.x);
  $if(row < x.shape(1) && column < x.shape(0) && row < y.shape(0) && column < y.shape(1)) {
    y(row, column) = x(row, column);
  }
}
void by_length(TensorIn<f32> x, TensorOut<f32> y) {
  auto row = ex(absolute_pos.y), column = ex(absolute_pos.x);
  $if(row < x.len() && column < x.len() && row < y.shape(0) && column < y.shape(1)) {
    y(row, column) = x(row, column);
  }
}
TEST(Bounds, TensorsByShapeAxisByAxis) {
  const detail::ParamTraits<TensorIn<f32>>::Stored x{2};
  const detail::ParamTraits<TensorOut<f32>>::Stored y{2};
  EXPECT_EQ(checks(&transposed, {x, y}).all, 0u);
  EXPECT_EQ(checks(&swapped_axes, {x, y}).all, 1u);
  EXPECT_EQ(checks(&by_length, {x, y}).all, 1u);
}

void rows(TensorInOut<f32> x) {
  for (auto row : range(x.shape(0))) {
    for (auto column : range(unit_pos, x.shape(1), cube_dim)) x(row, column) += 1;
  }
}
TEST(Bounds, RangesOverAShape) {
  EXPECT_EQ(checks(&rows, {detail::ParamTraits<TensorInOut<f32>>::Stored{2}}).all, 0u);
}

// ---- shared memory --------------------------------------------------------------------------

void one_each(In<f32> x, Out<f32> y, Const<std::uint32_t> count) {
  Shared<f32> s(count);
  s[unit_pos] = x.load_or(absolute_pos, 0);
  sync_cube();
  $if(absolute_pos < y.len()) {
    y[absolute_pos] = s[cube_dim - 1 - unit_pos];
  }
}
TEST(Bounds, SharedOfTheCubesSize) {
  EXPECT_LE(checks(&one_each, {{}, {}, 8u}).all, 1u);  // the mirrored load may stay checked
}

void own_place(In<f32> x, Out<f32> y, Const<std::uint32_t> count) {
  Shared<f32> s(count);
  s[unit_pos] = x.load_or(absolute_pos, 0);
  sync_cube();
  $if(absolute_pos < y.len()) {
    y[absolute_pos] = s[unit_pos];
  }
}
TEST(Bounds, SharedByUnit) {
  EXPECT_EQ(checks(&own_place, {{}, {}, 8u}).all, 0u);
  EXPECT_EQ(checks(&own_place, {{}, {}, 9u}).all, 0u);
  EXPECT_EQ(checks(&own_place, {{}, {}, 7u}).all, 2u);
  EXPECT_EQ(checks(&own_place, {{}, {}, 8u}, {4, 2, 1}).all, 0u);
  EXPECT_EQ(checks(&own_place, {{}, {}, 8u}, {4, 2, 2}).all, 2u);
}

void two_axes(In<f32> x, Out<f32> y) {
  Shared<f32> s(4, 8);
  s(unit_pos.y, unit_pos.x) = x.load_or(absolute_pos, 0);
  sync_cube();
  $if(absolute_pos < y.len()) {
    y[absolute_pos] = s(unit_pos.y, unit_pos.x);
  }
}
TEST(Bounds, SharedByTwoAxes) {
  EXPECT_EQ(checks(&two_axes, {}, {8, 4, 1}).all, 0u);
  EXPECT_EQ(checks(&two_axes, {}, {8, 5, 1}).all, 2u);
}

void guarded_unit(In<f32> x, Out<f32> y) {
  Shared<f32> s(4);
  $if(unit_pos < 4) {
    s[unit_pos] = x.load_or(absolute_pos, 0);
  }
  sync_cube();
  $if(absolute_pos < y.len()) {
    y[absolute_pos] = s[3];
  }
}
void constant_outside(In<f32> x, Out<f32> y) {
  Shared<f32> s(4);
  s[4] = x.load_or(absolute_pos, 0);
  sync_cube();
  $if(absolute_pos < y.len()) {
    y[absolute_pos] = s[3];
  }
}
TEST(Bounds, SharedByConstants) {
  EXPECT_EQ(checks(&guarded_unit).all, 0u);
  EXPECT_EQ(checks(&constant_outside).all, 1u);
}

void remainder(In<u32> x, Out<u32> y, Const<std::uint32_t> modulus) {
  Shared<Atomic<u32>> s(8);
  $if(absolute_pos < x.len() && absolute_pos < y.len()) {
    s[x[absolute_pos] % modulus].store(1);
    y[absolute_pos] = s[absolute_pos & 7u].load();
  }
}
TEST(Bounds, SharedByRemainderAndMask) {
  EXPECT_EQ(checks(&remainder, {{}, {}, 8u}).all, 0u);
  EXPECT_EQ(checks(&remainder, {{}, {}, 9u}).all, 1u);
}

void in_range(Out<u32> y, Const<std::uint32_t> count) {
  Shared<u32> s(8);
  $if(unit_pos == 0) {
    for (auto i : range(Expr<u32>(0), static_cast<std::uint32_t>(count))) s[i] = i;
  }
  sync_cube();
  $if(absolute_pos < y.len()) {
    y[absolute_pos] = s[unit_pos];
  }
}
TEST(Bounds, SharedByARangeOfConstants) {
  const detail::ParamTraits<Out<u32>>::Stored y{};
  EXPECT_EQ(checks(&in_range, {y, 8u}).all, 0u);
  const auto n = checks(&in_range, {y, 9u});
  EXPECT_EQ(n.all, 1u);
  EXPECT_EQ(n.in_loops, 1u);
}

}  // namespace
}  // namespace tessera::lang::testing
