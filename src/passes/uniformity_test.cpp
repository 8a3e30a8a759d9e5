// SPDX-License-Identifier: MIT OR Apache-2.0
// Which barriers are refused, with which lines, and which are not.
#include "passes/uniformity.hpp"

#include <cctype>

#include "lang/test_trace.hpp"
#include "passes/prepare.hpp"
#include "tessera/lang/dollar.hpp"

namespace tessera::lang::testing {
namespace {

int barrier_line = 0;
int condition_line = 0;

/// True where the message names the line of this file, and not one that only begins like it.
bool names_line(const std::string& message, int line) {
  const std::string place = TESSERA_HERE(line);
  for (auto at = message.find(place); at != std::string::npos; at = message.find(place, at + 1)) {
    const std::size_t next = at + place.size();
    if (next == message.size() || std::isdigit(static_cast<unsigned char>(message[next])) == 0) {
      return true;
    }
  }
  return false;
}

template <class F>
void expect_refused(F function, typename Traced<F>::Stored stored = {}) {
  auto kernel = traced(function, {128, 1, 1}, stored);
  ASSERT_TRUE(kernel) << kernel.error().message();
  const Status checked = passes::check_uniformity(*kernel);
  ASSERT_FALSE(checked) << ir::print(*kernel);
  EXPECT_EQ(checked.error().kind(), ErrorKind::CompileFailed);
  EXPECT_EQ(checked.error().kernel(), "test");
  const std::string& message = checked.error().message();
  EXPECT_TRUE(names_line(message, barrier_line)) << message << "\nlacks line " << barrier_line;
  EXPECT_TRUE(names_line(message, condition_line)) << message << "\nlacks line " << condition_line;
  const Status prepared = passes::prepare(*kernel);
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().kind(), ErrorKind::CompileFailed);
  EXPECT_EQ(prepared.error().message(), message);
}

template <class F>
void expect_accepted(F function, typename Traced<F>::Stored stored = {}) {
  auto kernel = traced(function, {128, 1, 1}, stored);
  ASSERT_TRUE(kernel) << kernel.error().message();
  const Status checked = passes::check_uniformity(*kernel);
  EXPECT_TRUE(checked) << checked.error().message();
  const Status prepared = passes::prepare(*kernel);
  EXPECT_TRUE(prepared) << prepared.error().message();
}

// ---- refused --------------------------------------------------------------------------------

void in_branch(Out<u32> y) {
  condition_line = __LINE__ + 1;
  $if(unit_pos < 64) {
    barrier_line = __LINE__ + 1;
    sync_cube();
  }
  y[absolute_pos] = 1;
}
TEST(Uniformity, BarrierInABranchOfSomeUnits) {
  expect_refused(&in_branch);
}

void in_else(Out<u32> y) {
  condition_line = __LINE__ + 1;
  $if(unit_pos.x < 64) {
    y[absolute_pos] = 1;
  }
  $else {
    barrier_line = __LINE__ + 1;
    sync_cube();
  }
}
TEST(Uniformity, BarrierInTheOtherBranch) {
  expect_refused(&in_else);
}

void nested_uniform(Out<u32> y, Scalar<u32> n) {
  condition_line = __LINE__ + 1;
  $if(absolute_pos < y.len()) {
    $if(n > 3) {
      barrier_line = __LINE__ + 1;
      sync_cube();
    }
    y[absolute_pos] = 1;
  }
}
TEST(Uniformity, UniformConditionInsideADivergentOne) {
  expect_refused(&nested_uniform);
}

void in_loop_of_read_count(In<u32> n, Out<u32> y) {
  condition_line = __LINE__ + 1;
  for (auto i : range(Expr<u32>(0), n[absolute_pos])) {
    barrier_line = __LINE__ + 1;
    sync_cube();
    y[absolute_pos] = i;
  }
}
TEST(Uniformity, BarrierInALoopWhoseCountIsReadPerUnit) {
  expect_refused(&in_loop_of_read_count);
}

void in_while(In<u32> x, Out<u32> y) {
  Var<Index> i = absolute_pos;
  condition_line = __LINE__ + 1;
  $while(i < x.len()) {
    barrier_line = __LINE__ + 1;
    sync_cube();
    i += cube_dim * cube_count;
  }
  y[absolute_pos] = 1;
}
TEST(Uniformity, BarrierInAWhileOfItsOwnLengthPerUnit) {
  expect_refused(&in_while);
}

void after_return(Out<u32> y) {
  condition_line = __LINE__ + 1;
  $if(absolute_pos >= y.len()) {
    $return;
  }
  barrier_line = __LINE__ + 1;
  sync_cube();
  y[absolute_pos] = 1;
}
TEST(Uniformity, BarrierAfterSomeUnitsReturned) {
  expect_refused(&after_return);
}

void after_return_in_loop(Out<u32> y) {
  for (auto i : range(Expr<Index>(0), 4)) {
    condition_line = __LINE__ + 1;
    $if(unit_pos == i) {
      $return;
    }
  }
  barrier_line = __LINE__ + 1;
  sync_cube();
  y[absolute_pos] = 1;
}
TEST(Uniformity, BarrierAfterALoopThatSomeUnitsReturnedFrom) {
  expect_refused(&after_return_in_loop);
}

// The barrier stands before the break, but the next round comes without the units that left.
void before_break(Out<u32> y) {
  for (auto i : range(Expr<Index>(0), 4)) {
    barrier_line = __LINE__ + 1;
    sync_cube();
    condition_line = __LINE__ + 1;
    $if(unit_pos == i) {
      $break;
    }
  }
  y[absolute_pos] = 1;
}
TEST(Uniformity, BarrierBeforeABreakOfSomeUnits) {
  expect_refused(&before_break);
}

void through_variable(Out<u32> y) {
  Var<u32> v = 0;
  $if(unit_pos < 64) {
    v = 1;
  }
  condition_line = __LINE__ + 1;
  $if(v == 1) {
    barrier_line = __LINE__ + 1;
    sync_cube();
  }
  y[absolute_pos] = v;
}
TEST(Uniformity, VariableThatSomeUnitsSet) {
  expect_refused(&through_variable);
}

// Divergence arrives at the condition by the back edge alone.
void next_round(In<u32> x, Out<u32> y, Scalar<u32> rounds) {
  Var<u32> v = 0;
  for (auto i : range(Expr<u32>(0), rounds)) {
    condition_line = __LINE__ + 1;
    $if(v == 0) {
      barrier_line = __LINE__ + 1;
      sync_cube();
    }
    v = x[unit_pos] + i;
  }
  y[absolute_pos] = v;
}
TEST(Uniformity, VariableOfTheRoundBefore) {
  expect_refused(&next_round);
}

// How many rounds a unit made differs, so what it counted does too.
void counted_rounds(Out<u32> y) {
  Var<u32> n = 0;
  for (auto i : range(Expr<Index>(0), 8)) {
    $if(unit_pos == i) {
      $break;
    }
    n += 1;
  }
  condition_line = __LINE__ + 1;
  $if(n == 3) {
    barrier_line = __LINE__ + 1;
    sync_cube();
  }
  y[absolute_pos] = n;
}
TEST(Uniformity, CounterOfALoopThatUnitsLeaveApart) {
  expect_refused(&counted_rounds);
}

// A plain load is not uniform even at one place: another cube may write there meanwhile.
void same_load(In<u32> x, Out<u32> y) {
  condition_line = __LINE__ + 1;
  $if(x[0] == 0) {
    barrier_line = __LINE__ + 1;
    sync_cube();
  }
  y[absolute_pos] = 1;
}
TEST(Uniformity, PlainLoadOfOneElement) {
  expect_refused(&same_load);
}

void atomic_result(InOut<Atomic<u32>> a, Out<u32> y) {
  auto ticket = a[0].fetch_add(1);
  condition_line = __LINE__ + 1;
  $if(ticket == 0) {
    barrier_line = __LINE__ + 1;
    sync_cube();
  }
  y[absolute_pos] = ticket;
}
TEST(Uniformity, ResultOfAnAtomic) {
  expect_refused(&atomic_result);
}

void uniform_load_in_branch(Out<u32> y) {
  Shared<u32> s(1);
  $if(unit_pos == 0) {
    s[0] = 5;
  }
  condition_line = __LINE__ + 1;
  $if(unit_pos < 3) {
    barrier_line = __LINE__ + 1;
    y[absolute_pos] = uniform_load(s, 0);
  }
}
TEST(Uniformity, UniformLoadIsABarrier) {
  expect_refused(&uniform_load_in_branch);
}

void uniform_load_of_own_place(Out<u32> y) {
  Shared<u32> s(128);
  s[unit_pos] = 5;
  barrier_line = condition_line = __LINE__ + 1;
  y[absolute_pos] = uniform_load(s, unit_pos);
}
TEST(Uniformity, UniformLoadOfAPlacePerUnit) {
  expect_refused(&uniform_load_of_own_place);
}

// ---- accepted -------------------------------------------------------------------------------

void by_scalar(Out<u32> y, Scalar<u32> n) {
  $if(n > 3) {
    sync_cube();
  }
  y[absolute_pos] = 1;
}
TEST(Uniformity, ScalarsSteerBarriers) {
  expect_accepted(&by_scalar);
}

void by_cube(In<u32> x, Out<u32> y) {
  $if(cube_pos * cube_dim < x.len() && cube_pos.y + 1 < cube_count.y) {
    sync_cube();
  }
  y[absolute_pos] = 1;
}
TEST(Uniformity, CubePositionsAndLengthsSteerBarriers) {
  expect_accepted(&by_cube);
}

void by_shape(TensorIn<u32> x, Out<u32> y) {
  for (auto i : range(x.shape(0))) {
    sync_cube();
    $if(i == x.stride(1)) {
      sync_cube();
    }
  }
  y[absolute_pos] = 1;
}
TEST(Uniformity, ShapesAndStridesSteerBarriers) {
  const detail::ParamTraits<TensorIn<u32>>::Stored x{2};
  expect_accepted(&by_shape, {x, {}});
}

void by_uniform_load(In<u32> x, Out<u32> y) {
  Shared<u32> s(1);
  $if(unit_pos == 0) {
    s[0] = x[0];
  }
  auto n = uniform_load(s, 0);
  $if(n == 1) {
    sync_cube();
  }
  for (auto i : range(Expr<u32>(0), n)) {
    sync_cube();
    y[absolute_pos] = i;
  }
}
TEST(Uniformity, UniformLoadSteersBarriers) {
  expect_accepted(&by_uniform_load);
}

void by_range(Out<u32> y, Scalar<u32> n) {
  Var<u32> v = n;
  for (auto i : range(Expr<u32>(0), n)) {
    sync_cube();
    $if(v > i) {
      sync_cube();
    }
    v += i;
  }
  y[absolute_pos] = v;
}
TEST(Uniformity, RangesOfScalarsMayHoldBarriers) {
  expect_accepted(&by_range);
}

void uniform_jumps(Out<u32> y, Scalar<u32> n) {
  $if(n == 0) {
    $return;
  }
  for (auto i : range(Expr<u32>(0), 10)) {
    $if(i == n) {
      $break;
    }
    sync_cube();
  }
  sync_cube();
  y[absolute_pos] = 1;
}
TEST(Uniformity, JumpsOfAllUnitsKeepThemTogether) {
  expect_accepted(&uniform_jumps);
}

void return_without_barrier(Out<u32> y) {
  sync_cube();
  $if(absolute_pos >= y.len()) {
    $return;
  }
  y[absolute_pos] = 1;
}
TEST(Uniformity, EarlyReturnBehindTheLastBarrier) {
  expect_accepted(&return_without_barrier);
}

void meet_again(Out<u32> y) {
  for (auto i : range(Expr<Index>(0), 8)) {
    $if(unit_pos == i) {
      $break;
    }
    y[absolute_pos] = 2;
  }
  sync_cube();
  $if(unit_pos < 64) {
    y[absolute_pos] = 3;
  }
  sync_cube();
}
TEST(Uniformity, UnitsMeetAgainBehindBranchesAndLoops) {
  expect_accepted(&meet_again);
}

}  // namespace
}  // namespace tessera::lang::testing
