// SPDX-License-Identifier: MIT OR Apache-2.0
// Control flow of the device: what runs, in which order, how often.
#include "lang/test_trace.hpp"
#include "tessera/lang/dollar.hpp"

namespace tessera::lang::testing {
namespace {

constexpr u32 poison = 0xA5A5A5A5u;

void if_else(Out<u32> y) {
  $if(unit_pos < 3) {
    y[unit_pos] = 1;
  }
  $else {
    y[unit_pos] = 2;
  }
}
TEST(Control, IfElse) {
  Host host;
  host.out<u32>(5);
  run_one(&if_else, host, 5);
  EXPECT_EQ(host.get<u32>(0), (std::vector<u32>{1, 1, 1, 2, 2}));
}

void if_elif(Out<u32> y) {
  $if(unit_pos < 1) {
    y[unit_pos] = 10;
  }
  $elif(unit_pos < 3) {
    y[unit_pos] = 20;
  }
}
TEST(Control, ElifWithoutElse) {
  Host host;
  host.out<u32>(5);
  run_one(&if_elif, host, 5);
  EXPECT_EQ(host.get<u32>(0), (std::vector<u32>{10, 20, 20, poison, poison}));
}

void chain(Out<u32> y) {
  $if(unit_pos < 1) {
    y[unit_pos] = 10;
  }
  $elif(unit_pos < 2) {
    y[unit_pos] = 20;
  }
  $elif(unit_pos < 4) {
    y[unit_pos] = 30;
  }
  $else {
    y[unit_pos] = 40;
  }
}
TEST(Control, ElifChainWithElse) {
  Host host;
  host.out<u32>(6);
  run_one(&chain, host, 6);
  EXPECT_EQ(host.get<u32>(0), (std::vector<u32>{10, 20, 30, 30, 40, 40}));
}

void nested(Out<u32> y) {
  $if(unit_pos < 4) {
    $if(unit_pos % 2 == 0) {
      y[unit_pos] = 1;
    }
    $else {
      y[unit_pos] = 2;
    }
  }
  $else {
    y[unit_pos] = 3;
  }
}
TEST(Control, NestedIfsKeepTheirOwnElse) {
  Host host;
  host.out<u32>(6);
  run_one(&nested, host, 6);
  EXPECT_EQ(host.get<u32>(0), (std::vector<u32>{1, 2, 1, 2, 3, 3}));
}

// An empty $if still takes an $else, and a comptime branch between them is no statement.
void empty_then(Out<u32> y) {
  $if(unit_pos < 2) {}
  $else {
    y[unit_pos] = 7;
  }
}
TEST(Control, EmptyBlock) {
  Host host;
  host.out<u32>(4);
  run_one(&empty_then, host, 4);
  EXPECT_EQ(host.get<u32>(0), (std::vector<u32>{poison, poison, 7, 7}));
}

void host_bool(Out<u32> y, Const<bool> choose) {
  if (choose) {
    y[unit_pos] = 1;
  } else {
    y[unit_pos] = 2;
  }
  $if(static_cast<bool>(choose)) {
    y[unit_pos + 2] = 3;
  }
}
TEST(Control, HostConditionsAreComptime) {
  for (const bool choose : {true, false}) {
    Host host;
    host.out<u32>(4);
    run_one(&host_bool, host, 2, {detail::ParamTraits<Out<u32>>::Stored{}, choose});
    EXPECT_EQ(host.get<u32>(0),
              choose ? (std::vector<u32>{1, 1, 3, 3}) : (std::vector<u32>{2, 2, poison, poison}));
  }
}

void collatz(In<u32> x, Out<u32> y) {
  Var<u32> v = x[unit_pos];
  Var<u32> steps;
  $while(v != 1) {
    $if(v % 2 == 0) {
      v /= 2;
    }
    $else {
      v = v * 3 + 1;
    }
    steps += 1;
  }
  y[unit_pos] = steps;
}
TEST(Control, WhileRunsPerUnit) {
  Host host;
  host.in(std::vector<u32>{1, 2, 3, 7, 27}).out<u32>(5);
  run_one(&collatz, host, 5);
  EXPECT_EQ(host.get<u32>(1), (std::vector<u32>{0, 1, 7, 16, 111}));
}

void breaks(Out<u32> y) {
  Var<u32> n;
  for (auto i : range(Expr<u32>(0), 100)) {
    $if(Expr<Index>(i) >= unit_pos * 3) {
      $break;
    }
    n += 1;
  }
  Var<u32> m;
  $while(m < 50) {
    m += 1;
    $if(m == n + 5) {
      $break;
    }
  }
  y[unit_pos] = n;
  y[unit_pos + 4] = m;
}
TEST(Control, BreakLeavesTheInnermostLoop) {
  Host host;
  host.out<u32>(8);
  run_one(&breaks, host, 4);
  EXPECT_EQ(host.get<u32>(0), (std::vector<u32>{0, 3, 6, 9, 5, 8, 11, 14}));
}

void returns(Out<u32> y) {
  y[unit_pos] = 1;
  $if(unit_pos >= 2) {
    $return;
  }
  for (auto i : range(0, 10)) {
    $if(i == 3) {
      $return;
    }
    y[unit_pos] = 2;
  }
  y[unit_pos] = 3;
}
TEST(Control, ReturnEndsTheUnit) {
  Host host;
  host.out<u32>(4);
  run_one(&returns, host, 4);
  EXPECT_EQ(host.get<u32>(0), (std::vector<u32>{2, 2, 1, 1}));
}

void ranges(Out<i32> y, Scalar<i32> low, Scalar<i32> high) {
  Var<i32> a, b, c, d;
  for (auto i : range(low, high)) a += i;
  for (auto i : range(low, high, 3)) b += i;
  for (auto i : range(high, low, -2)) c += i;
  for (auto i : range(high, low)) d += i + 1000;  // empty
  y[0] = a;
  y[1] = b;
  y[2] = c;
  y[3] = d;
}
TEST(Control, RangesCountUpDownAndNotAtAll) {
  Host host;
  host.out<i32>(4).scalar<i32>(-3).scalar<i32>(6);
  run_one(&ranges, host, 1);
  int a = 0, b = 0, c = 0;
  for (int i = -3; i < 6; ++i) a += i;
  for (int i = -3; i < 6; i += 3) b += i;
  for (int i = 6; i > -3; i -= 2) c += i;
  EXPECT_EQ(host.get<i32>(0), (std::vector<i32>{a, b, c, 0}));
}

void range_types() {
  for (auto i : range(4)) static_assert(std::is_same_v<decltype(i), Expr<Index>>);
  for (auto i : range(Expr<u32>(1), 9)) static_assert(std::is_same_v<decltype(i), Expr<u32>>);
  for (auto i : range(Expr<u32>(1), unit_pos)) {
    static_assert(std::is_same_v<decltype(i), Expr<Index>>);
  }
  for (auto i : range(0, 9, Expr<i32>(2))) static_assert(std::is_same_v<decltype(i), Expr<i32>>);
}
TEST(Control, RangeMeetsInOneType) {
  EXPECT_TRUE(traced(&range_types));
}

// The bounds are taken once, at entry.
void bounds_at_entry(Out<u32> y) {
  Var<u32> end = 4;
  Var<u32> rounds;
  for (auto i : range(Expr<u32>(0), end)) {
    end = 100;
    rounds += 1;
    y[i] = i;
  }
  y[4] = rounds;
}
TEST(Control, RangeTakesItsBoundsAtEntry) {
  Host host;
  host.out<u32>(5);
  run_one(&bounds_at_entry, host, 1);
  EXPECT_EQ(host.get<u32>(0), (std::vector<u32>{0, 1, 2, 3, 4}));
}

void unrolled(Out<u32> y) {
  for (u32 i = 0; i < 6; ++i) y[i] = i * i;
}
TEST(Control, HostLoopsUnroll) {
  Host host;
  host.out<u32>(6);
  run_one(&unrolled, host, 1);
  EXPECT_EQ(host.get<u32>(0), (std::vector<u32>{0, 1, 4, 9, 16, 25}));
  const auto kernel = traced(&unrolled);
  ASSERT_TRUE(kernel);
  EXPECT_EQ(count_ops(*kernel, detail::Opcode::store), 6);
  EXPECT_EQ(count_ops(*kernel, detail::Opcode::for_), 0);
}

// A variable declared in a loop starts anew in every round.
void fresh_variables(Out<u32> y) {
  for (auto i : range(Expr<u32>(0), 4)) {
    Var<u32> v;
    v += i;
    y[i] = v;
  }
}
TEST(Control, VariablesOfALoopStartAnew) {
  Host host;
  host.out<u32>(4);
  run_one(&fresh_variables, host, 1);
  EXPECT_EQ(host.get<u32>(0), (std::vector<u32>{0, 1, 2, 3}));
}

void one_line(Out<u32> y) {
  $if(unit_pos < 2) {
    $if(unit_pos < 1) {
      y[unit_pos] = 9;
    }
    $else {
      y[unit_pos] = 8;
    }
  }
}
TEST(Control, NestedBlocksOnOneLine) {
  Host host;
  host.out<u32>(3);
  run_one(&one_line, host, 3);
  EXPECT_EQ(host.get<u32>(0), (std::vector<u32>{9, 8, poison}));
}

// The long spellings are the same statements.
void long_spellings(Out<u32> y) {
  Var<u32> n;
  TESSERA_WHILE(n < 9) {
    n += 1;
    TESSERA_IF(n == 5) {
      TESSERA_BREAK;
    }
  }
  TESSERA_IF(unit_pos == 0) {
    y[0] = n;
  }
  TESSERA_ELIF(unit_pos == 1) {
    y[1] = n + 1;
  }
  TESSERA_IF(unit_pos == 0) {
    TESSERA_RETURN;
  }
  TESSERA_ELSE {
    y[2] = 0;
  }
}
TEST(Control, LongSpellings) {
  Host host;
  host.out<u32>(3);
  run_one(&long_spellings, host, 2);
  EXPECT_EQ(host.get<u32>(0), (std::vector<u32>{5, 6, 0}));
}

}  // namespace
}  // namespace tessera::lang::testing
