// SPDX-License-Identifier: MIT OR Apache-2.0
// Every misuse that only shows while tracing, and the line that its error names.
#include <memory>
#include <optional>
#include <stdexcept>

#include "lang/test_trace.hpp"
#include "tessera/lang/dollar.hpp"

namespace tessera::lang::testing {
namespace {

int mark = 0;       // the line at fault of the last kernel that ran
int made_mark = 0;  // where what it misuses was made

void left_by_break(Out<u32> y) {
  for (int i = 0; i < 2; ++i) {
    mark = __LINE__ + 1;
    $if(unit_pos == 0) {
      y[0] = 1;
      break;
    }
  }
}
void left_by_return(Out<u32> y) {
  mark = __LINE__ + 1;
  $if(unit_pos == 0) {
    y[0] = 1;
    return;
  }
}
void else_left_by_return(Out<u32> y) {
  $if(unit_pos == 0) {
    y[0] = 1;
  }
  mark = __LINE__ + 1;
  $else {
    y[0] = 2;
    return;
  }
}
void while_left_by_break(Out<u32> y) {
  Var<u32> n;
  mark = __LINE__ + 1;
  $while(n < 3) {
    y[0] = n;
    break;
  }
}
void range_left_by_break(Out<u32> y) {
  mark = __LINE__ + 1;
  for (auto i : range(0, 3)) {
    y[i] = 1;
    break;
  }
}
void range_left_by_return(Out<u32> y) {
  mark = __LINE__ + 1;
  for (auto i : range(0, 3)) {
    y[i] = 1;
    return;
  }
}
TEST(Misuse, HostJumpsOutOfDeviceBlocks) {
  for (auto kernel : {&left_by_break, &left_by_return, &else_left_by_return, &while_left_by_break,
                      &range_left_by_break, &range_left_by_return}) {
    const std::string message = refusal(kernel);
    EXPECT_NAMES(message, "C++ break, return or goto left a device");
    EXPECT_NAMES(message, TESSERA_HERE(mark));
  }
}

void else_alone(Out<u32> y) {
  mark = __LINE__ + 1;
  $else {
    y[0] = 1;
  }
}
void elif_alone(Out<u32> y) {
  mark = __LINE__ + 1;
  $elif(unit_pos == 0) {
    y[0] = 1;
  }
}
void else_after_statement(Out<u32> y) {
  $if(unit_pos == 0) {
    y[0] = 1;
  }
  y[1] = 2;
  mark = __LINE__ + 1;
  $else {
    y[0] = 1;
  }
}
void else_twice(Out<u32> y) {
  $if(unit_pos == 0) {
    y[0] = 1;
  }
  $else {
    y[0] = 2;
  }
  mark = __LINE__ + 1;
  $else {
    y[0] = 3;
  }
}
void else_of_an_outer_if(Out<u32> y) {
  $if(unit_pos == 0) {
    mark = __LINE__ + 1;
    $else {
      y[0] = 3;
    }
  }
}
TEST(Misuse, ElseNeedsItsIf) {
  for (auto kernel :
       {&else_alone, &elif_alone, &else_after_statement, &else_twice, &else_of_an_outer_if}) {
    const std::string message = refusal(kernel);
    EXPECT_NAMES(message, "$else or $elif does not follow an $if");
    EXPECT_NAMES(message, TESSERA_HERE(mark));
  }
}

void else_twice_after_empty(Out<u32> y) {
  $if(unit_pos == 0) {
    y[0] = 1;
  }
  $else {}
  mark = __LINE__ + 1;
  $else {
    y[0] = 3;
  }
}
TEST(Misuse, SecondElseAfterAnEmptyOne) {
  const std::string message = refusal(&else_twice_after_empty);
  EXPECT_NAMES(message, "$else or $elif does not follow an $if");
  EXPECT_NAMES(message, TESSERA_HERE(mark));
}

void escapes_if(Out<u32> y) {
  std::optional<Expr<u32>> kept;
  $if(unit_pos == 0) {
    made_mark = __LINE__ + 1;
    kept.emplace(cast<u32>(unit_pos));
  }
  mark = __LINE__ + 1;
  y[0] = *kept;
}
void escapes_to_else(Out<u32> y) {
  std::optional<Expr<u32>> kept;
  $if(unit_pos == 0) {
    made_mark = __LINE__ + 1;
    kept.emplace(cast<u32>(unit_pos));
  }
  $else {
    mark = __LINE__ + 1;
    y[0] = *kept;
  }
}
void escapes_loop(Out<u32> y) {
  std::optional<Expr<Index>> kept;
  made_mark = __LINE__ + 1;
  for (auto i : range(0, 4)) {
    kept.emplace(i);
  }
  mark = __LINE__ + 1;
  y[*kept] = 1;
}
void variable_escapes(Out<u32> y) {
  std::optional<Var<u32>> kept;
  $if(unit_pos == 0) {
    made_mark = __LINE__ + 1;
    kept.emplace(1u);
  }
  mark = __LINE__ + 1;
  y[0] = *kept;
}
TEST(Misuse, ValuesLeaveTheirBlock) {
  for (auto kernel : {&escapes_if, &escapes_to_else, &escapes_loop}) {
    const std::string message = refusal(kernel);
    EXPECT_NAMES(message, "made in a block that has ended");
    EXPECT_NAMES(message, TESSERA_HERE(mark));
  }
}
void escapes_into_operator(Out<u32> y) {
  std::optional<Expr<u32>> kept;
  $if(unit_pos == 0) {
    kept.emplace(cast<u32>(unit_pos));
    y[0] = 5;
  }
  mark = __LINE__ + 1;
  y[0] = *kept + 1;
}
TEST(Misuse, EscapesIntoOperatorsAndVariables) {
  for (auto kernel : {&escapes_into_operator, &variable_escapes}) {
    EXPECT_NAMES(refusal(kernel), "made in a block that has ended");
  }
}
TEST(Misuse, EscapeNamesTheLineThatMadeTheValue) {
  for (auto kernel : {&escapes_if, &escapes_to_else, &escapes_loop}) {
    const std::string message = refusal(kernel);
    EXPECT_NAMES(message, TESSERA_HERE(made_mark));
  }
}

std::optional<Expr<u32>> foreign;
void makes_foreign(Out<u32> y) {
  for (int i = 0; i < 40; ++i) y[i] = 0;
  foreign.emplace(cast<u32>(unit_pos));
}
void uses_foreign(Out<u32> y) {
  mark = __LINE__ + 1;
  y[0] = *foreign;
}
TEST(Misuse, ValuesOfAnotherTrace) {
  ASSERT_TRUE(traced(&makes_foreign));
  const std::string message = refusal(&uses_foreign);
  EXPECT_NAMES(message, "another kernel's trace");
  EXPECT_NAMES(message, TESSERA_HERE(mark));
}

void loops_over_foreign(Out<u32> y) {
  mark = __LINE__ + 1;
  for (auto i : range(*foreign, 10)) y[i] = 1;
}
TEST(Misuse, RangeOverAValueOfAnotherTrace) {
  ASSERT_TRUE(traced(&makes_foreign));
  const std::string message = refusal(&loops_over_foreign);
  EXPECT_NAMES(message, "another kernel's trace");
  EXPECT_NAMES(message, TESSERA_HERE(mark));
}

void foreign_condition(Out<u32> y) {
  mark = __LINE__ + 1;
  $if(*foreign == 3) {
    y[0] = 1;
  }
}
TEST(Misuse, ConditionOfAnotherTrace) {
  ASSERT_TRUE(traced(&makes_foreign));
  EXPECT_NAMES(refusal(&foreign_condition), "another kernel's trace");
}

void after_break(Out<u32> y) {
  for (auto i : range(0, 3)) {
    made_mark = __LINE__ + 1;
    $break;
    mark = __LINE__ + 1;
    y[i] = 1;
  }
}
void after_return(Out<u32> y) {
  $if(unit_pos == 0) {
    made_mark = __LINE__ + 1;
    $return;
    mark = __LINE__ + 1;
    y[0] = 1;
  }
}
void block_after_return(Out<u32> y) {
  made_mark = __LINE__ + 1;
  $return;
  mark = __LINE__ + 1;
  $if(unit_pos == 0) {
    y[0] = 1;
  }
}
TEST(Misuse, NothingFollowsAJump) {
  for (auto kernel : {&after_break, &after_return}) {
    const std::string message = refusal(kernel);
    EXPECT_NAMES(message, "Nothing may follow $break or $return");
    EXPECT_NAMES(message, TESSERA_HERE(made_mark));
    EXPECT_NAMES(message, TESSERA_HERE(mark));
  }
  // The condition is an operator, which carries no line of its own: the jump's is named.
  const std::string message = refusal(&block_after_return);
  EXPECT_NAMES(message, "Nothing may follow $break or $return");
  EXPECT_NAMES(message, TESSERA_HERE(made_mark));
}

void break_outside(Out<u32> y) {
  y[0] = 1;
  $if(unit_pos == 0) {
    mark = __LINE__ + 1;
    $break;
  }
}
TEST(Misuse, BreakOutsideALoop) {
  const std::string message = refusal(&break_outside);
  EXPECT_NAMES(message, "A break stands outside every loop");
  EXPECT_NAMES(message, TESSERA_HERE(mark));
}

void negative_index(In<u32> x, Out<u32> y) {
  mark = __LINE__ + 1;
  y[0] = x[-1];
}
void half_of_an_integer(In<u32> x, Out<u32> y) {
  y[0] = 0;
  mark = __LINE__ + 1;
  Var<u32> v = x[0] + cast<u32>(Expr<u32>(0.5));
  y[0] = v;
}
void too_large(In<u32> x, Out<u32> y) {
  mark = __LINE__ + 1;
  y[0] = x[0] + Expr<u32>(4294967296LL);
}
void index_beyond_32_bits(In<u32> x, Out<u32> y) {
  mark = __LINE__ + 1;
  y[0] = x[std::uint64_t{1} << 32];
}
TEST(Misuse, LiteralsThatDoNotFit) {
  for (auto kernel : {&negative_index, &half_of_an_integer, &too_large, &index_beyond_32_bits}) {
    const std::string message = refusal(kernel);
    EXPECT_NAMES(message, "cannot be a number of type");
    EXPECT_NAMES(message, TESSERA_HERE(mark));
  }
}

void literal_bounds(Out<i32> y, Out<u32> z) {
  y[0] = Expr<i32>(-2147483648LL);
  y[1] = Expr<i32>(2147483647.0);
  z[0] = 4294967295u;
  z[1] = 3.0;
}
TEST(Misuse, LiteralsThatJustFit) {
  Host host;
  host.out<i32>(2).out<u32>(2);
  run_one(&literal_bounds, host, 1);
  EXPECT_EQ(host.get<i32>(0), (std::vector<i32>{-2147483647 - 1, 2147483647}));
  EXPECT_EQ(host.get<u32>(1), (std::vector<u32>{4294967295u, 3}));
}

void float_overflow(In<float> x, Out<float> y) {
  mark = __LINE__ + 1;
  y[0] = x[0] + Expr<float>(1e300);
}
TEST(Misuse, FiniteLiteralMustNotBecomeInfinity) {
  const std::string message = refusal(&float_overflow);
  EXPECT_NAMES(message, TESSERA_HERE(mark));
}

void lane_outside(In<Vec<float, 4>> x, Out<float> y) {
  mark = __LINE__ + 1;
  y[0] = x[0].lane(4);
}
void lane_negative(In<Vec<float, 4>> x, Out<float> y) {
  mark = __LINE__ + 1;
  y[0] = x[0].lane(-1);
}
void set_lane_outside(In<Vec<float, 4>> x, Out<float> y) {
  Var<Vec<float, 4>> v = x[0];
  mark = __LINE__ + 1;
  v.set_lane(4, 1.f);
  y[0] = v.lane(0);
}
TEST(Misuse, LanesThatAVectorLacks) {
  for (auto kernel : {&lane_outside, &lane_negative, &set_lane_outside}) {
    const std::string message = refusal(kernel);
    EXPECT_NAMES(message, "out of the vector's range");
    EXPECT_NAMES(message, TESSERA_HERE(mark));
  }
}

void empty_shared(Out<u32> y) {
  mark = __LINE__ + 1;
  Shared<u32> s(0);
  y[0] = s[0];
}
TEST(Misuse, EmptySharedBlock) {
  const std::string message = refusal(&empty_shared);
  EXPECT_NAMES(message, "at least one element");
  EXPECT_NAMES(message, TESSERA_HERE(mark));
}

void zero_step(Out<u32> y) {
  mark = __LINE__ + 1;
  for (auto i : range(0, 10, 0)) y[i] = 1;
}
TEST(Misuse, ZeroStep) {
  const std::string message = refusal(&zero_step);
  EXPECT_NAMES(message, "step of a loop is zero");
  EXPECT_NAMES(message, TESSERA_HERE(mark));
}

void wrong_rank(TensorIn<float> x, Out<float> y) {
  mark = __LINE__ + 1;
  y[0] = x(0);
}
void wrong_axis(TensorIn<float> x, Out<float> y) {
  mark = __LINE__ + 1;
  y[x.shape(2)] = 0;
}
void wrong_stride(TensorIn<float> x, Out<float> y) {
  mark = __LINE__ + 1;
  y[x.stride(-1)] = 0;
}
TEST(Misuse, AxesThatATensorLacks) {
  detail::ParamTraits<TensorIn<float>>::Stored rank2{2};
  EXPECT_NAMES(refusal(&wrong_rank, {rank2, {}}), "number of coordinates");
  EXPECT_NAMES(refusal(&wrong_rank, {rank2, {}}), TESSERA_HERE(mark));
  for (auto kernel : {&wrong_axis, &wrong_stride}) {
    const std::string message = refusal(kernel, {rank2, {}});
    EXPECT_NAMES(message, "axis");
    EXPECT_NAMES(message, TESSERA_HERE(mark));
  }
}

void first_of_two(In<u32> x, Out<u32> y) {
  mark = __LINE__ + 1;
  y[0] = x[-1];
  $else {
    y[0] = 1;
  }
  $if(unit_pos == 0) {
    return;
  }
}
TEST(Misuse, TheFirstErrorWins) {
  const std::string message = refusal(&first_of_two);
  EXPECT_NAMES(message, "cannot be a number of type");
  EXPECT_NAMES(message, TESSERA_HERE(mark));
}

void error_location(In<u32> x, Out<u32> y) {
  mark = __LINE__ + 1;
  y[0] = x[-1];
}
TEST(Misuse, TheErrorCarriesItsPlace) {
  const auto kernel = traced(&error_location);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().where().line, static_cast<std::uint32_t>(mark));
  EXPECT_STREQ(kernel.error().where().file, __FILE__);
}

#if defined(__cpp_exceptions)
void throws(Out<u32> y) {
  $if(unit_pos == 0) {
    y[0] = 1;
    for (auto i : range(0, 3)) {
      y[i] = 1;
      throw std::runtime_error("the tile is odd");
    }
  }
}
void throws_number(Out<u32>) {
  throw 3;
}
TEST(Misuse, ExceptionsBecomeErrors) {
  EXPECT_NAMES(refusal(&throws), "the tile is odd");
  EXPECT_NAMES(refusal(&throws_number), "threw something");
  EXPECT_FALSE(detail::tracing());
}
#endif

// Called outside any trace, the language does nothing and says so.
TEST(Misuse, OutsideATraceNothingHappens) {
  ASSERT_FALSE(detail::tracing());
  EXPECT_EQ(detail::trace_serial(), 0u);
  Expr<u32> x(3u);
  Var<u32> v = x;
  $if(v == 3) {
    v = 4;
  }
  $else {
    v = 5;
  }
  for (auto i : range(0, 4)) v += cast<u32>(i);
  sync_cube();
  EXPECT_FALSE(detail::tracing());
}

void outer(Out<u32> y) {
  y[0] = 1;
  const std::uint32_t mine = detail::trace_serial();
  const auto inner = traced(+[](Out<u32> z) { z[5] = 7; });
  EXPECT_TRUE(inner);
  if (inner) {
    EXPECT_EQ(count_ops(*inner, detail::Opcode::store), 1);
  }
  EXPECT_NAMES(refusal(&else_alone), "$else");
  EXPECT_EQ(detail::trace_serial(), mine);
  y[1] = 2;
}
TEST(Misuse, TracesNest) {
  const auto kernel = traced(&outer);
  ASSERT_TRUE(kernel) << kernel.error().message();
  EXPECT_EQ(count_ops(*kernel, detail::Opcode::store), 2);
}

void uses_outer_value(Out<u32> y) {
  auto mine = cast<u32>(unit_pos);
  foreign.emplace(mine);
  EXPECT_NAMES(refusal(&uses_foreign), "another kernel's trace");
  y[0] = mine;
}
TEST(Misuse, InnerTracesDoNotSeeOuterValues) {
  EXPECT_TRUE(traced(&uses_outer_value));
}

}  // namespace
}  // namespace tessera::lang::testing
