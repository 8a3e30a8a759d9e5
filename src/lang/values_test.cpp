// SPDX-License-Identifier: MIT OR Apache-2.0
// Operators, functions and conversions: types where the compiler knows them, values by running.
#include <bit>
#include <cmath>
#include <limits>

#include "lang/test_trace.hpp"

namespace tessera::lang::testing {
namespace {

void i32_arithmetic(In<i32> x, Out<i32> y) {
  auto a = x[0], b = x[1];
  y[0] = a + b;
  y[1] = a - b;
  y[2] = a * b;
  y[3] = a / b;
  y[4] = a % b;
  y[5] = mod(a, b);
  y[6] = -a;
  y[7] = abs(a);
  y[8] = min(a, b);
  y[9] = max(a, b);
  y[10] = clamp(a, -2, 2);
  y[11] = a >> 1;
  y[12] = a << 3;
  y[13] = 10 - a;
  y[14] = a & b;
  y[15] = a | b;
  y[16] = a ^ b;
  y[17] = ~a;
}
TEST(Values, SignedArithmetic) {
  Host host;
  host.in(std::vector<i32>{-7, 3}).out<i32>(18);
  run_one(&i32_arithmetic, host, 1);
  EXPECT_EQ(host.get<i32>(1), (std::vector<i32>{-4, -10, -21, -2, -1, 2, 7, 7, -7, 3, -2, -4, -56,
                                                17, -7 & 3, -7 | 3, -7 ^ 3, 6}));
}

void corners(In<i32> x, Out<i32> y) {
  auto least = x[0], zero = x[1];
  y[0] = x[2] / zero;
  y[1] = x[2] % zero;
  y[2] = least / -1;
  y[3] = least % -1;
  y[4] = least - 1;
  y[5] = cast<i32>(Expr<f32>(3e9));
  y[6] = cast<i32>(Expr<f32>(std::numeric_limits<float>::quiet_NaN()));
}
TEST(Values, IntegerCorners) {
  Host host;
  const i32 least = std::numeric_limits<i32>::min();
  host.in(std::vector<i32>{least, 0, 5}).out<i32>(7);
  run_one(&corners, host, 1);
  EXPECT_EQ(host.get<i32>(1), (std::vector<i32>{5, 0, least, 0, std::numeric_limits<i32>::max(),
                                                std::numeric_limits<i32>::max(), 0}));
}

void unsigned_bits(In<u32> x, Out<u32> y) {
  auto a = x[0];
  y[0] = count_ones(a);
  y[1] = leading_zeros(a);
  y[2] = trailing_zeros(a);
  y[3] = reverse_bits(a);
  y[4] = mul_hi(a, x[1]);
  y[5] = a >> 33;  // amounts are masked
  y[6] = 0 - a;
  y[7] = bitcast<u32>(Expr<f32>(1.5f));
  y[8] = cast<u32>(cast<u8>(a));
}
TEST(Values, UnsignedBits) {
  Host host;
  host.in(std::vector<u32>{0x00F01230u, 0xFFFFFFFFu}).out<u32>(9);
  run_one(&unsigned_bits, host, 1);
  EXPECT_EQ(host.get<u32>(1), (std::vector<u32>{8, 8, 4, 0x0C480F00u, 0x00F0122Fu, 0x00F01230u >> 1,
                                                0u - 0x00F01230u, 0x3FC00000u, 0x30u}));
}

void float_functions(In<f32> x, Out<f32> y) {
  auto a = x[0];
  y[0] = floor(a);
  y[1] = ceil(a);
  y[2] = trunc(a);
  y[3] = round(a);
  y[4] = sqrt(-a);
  y[5] = inverse_sqrt(-a);
  y[6] = exp(a);
  y[7] = exp2(a);
  y[8] = log(-a);
  y[9] = log2(-a);
  y[10] = sin(a);
  y[11] = cos(a);
  y[12] = tanh(a);
  y[13] = pow(-a, a);
  y[14] = fma(a, 2, 1);
  y[15] = select(is_nan(x[1]), a, 0);
  y[16] = select(is_inf(a), 1, a);
  y[17] = a / 4;
}
TEST(Values, FloatFunctions) {
  Host host;
  const float a = -2.5f;
  host.in(std::vector<float>{a, std::numeric_limits<float>::quiet_NaN()}).out<float>(18);
  run_one(&float_functions, host, 1);
  const std::vector<double> want{-3,
                                 -2,
                                 -2,
                                 -2,
                                 std::sqrt(2.5),
                                 1 / std::sqrt(2.5),
                                 std::exp(-2.5),
                                 std::exp2(-2.5),
                                 std::log(2.5),
                                 std::log2(2.5),
                                 std::sin(-2.5),
                                 std::cos(-2.5),
                                 std::tanh(-2.5),
                                 std::pow(2.5, -2.5),
                                 -4,
                                 a,
                                 a,
                                 -0.625};
  const auto got = host.get<float>(1);
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(got[i], want[i], 4e-7 * std::abs(want[i])) << i;
  }
}

void comparisons(In<f32> x, Out<u32> y) {
  auto a = x[0], b = x[1];
  const auto flag = [](auto c) { return cast<u32>(c); };
  y[0] = flag(a < b);
  y[1] = flag(a <= b);
  y[2] = flag(a > b);
  y[3] = flag(a >= b);
  y[4] = flag(a == b);
  y[5] = flag(a != b);
  y[6] = flag(a < b && a == b);
  y[7] = flag(a < b || a == b);
  y[8] = flag(!(a < b));
  y[9] = flag(a < b && true);
  y[10] = flag(false || a > b);
  y[11] = flag((a < b) != (a > b));
  y[12] = flag((a < b) ^ true);
}
TEST(Values, ComparisonsAndLogic) {
  Host host;
  host.in(std::vector<float>{1, 2}).out<u32>(13);
  run_one(&comparisons, host, 1);
  EXPECT_EQ(host.get<u32>(1), (std::vector<u32>{1, 1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0}));
}

void index_widens(In<u32> x, Out<u32> y) {
  auto u = x[0];
  static_assert(std::is_same_v<decltype(u + u), Expr<u32>>);
  static_assert(std::is_same_v<decltype(u + unit_pos), Expr<Index>>);
  static_assert(std::is_same_v<decltype(unit_pos.x * u), Expr<Index>>);
  static_assert(std::is_same_v<decltype(unit_pos + 1), Expr<Index>>);
  static_assert(std::is_same_v<decltype(u < y.len()), Expr<bool>>);
  static_assert(std::is_same_v<decltype(absolute_pos % cube_dim.x), Expr<Index>>);
  y[u + unit_pos] = u * 2;
}
TEST(Values, U32MeetsIndexAtIndex) {
  Host host;
  host.in(std::vector<u32>{2}).out<u32>(3);
  run_one(&index_widens, host, 1);
  EXPECT_EQ(host.get<u32>(1)[2], 4u);
}

void variables(In<u32> x, Out<u32> y) {
  Var<u32> a = x[0];
  auto snapshot = a;  // a variable of its own
  auto value = ex(a);
  a += 1;
  a *= 3;
  a -= 2;
  a /= 2;
  a %= 7;
  a <<= 4;
  a >>= 1;
  a |= 1;
  a ^= 2;
  a &= 0xff;
  snapshot += 100;
  Var<u32> zero;
  Var<bool> no;
  y[0] = a;
  y[1] = snapshot;
  y[2] = value;
  y[3] = zero;
  y[4] = cast<u32>(no);
  Var<u32> b = 5;
  b = a;
  a = 0;
  y[5] = b;
  auto& same = b;
  b = same;
  y[6] = b + a;
}
TEST(Values, Variables) {
  Host host;
  host.in(std::vector<u32>{10}).out<u32>(7);
  run_one(&variables, host, 1);
  u32 a = 10;
  a = (((a + 1) * 3 - 2) / 2) % 7;
  a = ((((a << 4) >> 1) | 1) ^ 2) & 0xff;
  EXPECT_EQ(host.get<u32>(1), (std::vector<u32>{a, 110, 10, 0, 0, a, a}));
}

void by_reference(Var<u32>& v) {
  v += 1;
}
void by_value(Var<u32> v) {
  v += 1000;
}
Expr<u32> twice(Expr<u32> v) {
  return v + v;
}
void functions(InOut<u32> y) {
  Var<u32> v = 1;
  by_reference(v);
  by_value(v);
  y[0] = twice(v);
  y[1] = twice(y[0]);
  y[2] = twice(7);
}
TEST(Values, FunctionsAreInlined) {
  Host host;
  host.in(std::vector<u32>{0, 0, 0});
  run_one(&functions, host, 1);
  EXPECT_EQ(host.get<u32>(0), (std::vector<u32>{4, 8, 14}));
}

void vectors(In<Vec<f32, 4>> x, Scalar<f32> s, Out<Vec<f32, 4>> y, Out<f32> z) {
  auto v = x[0];
  y[0] = v * s + 1;
  y[1] = 2 * v - v;
  y[2] = select(v > 2, v, -v);
  y[3] = Expr<Vec<f32, 4>>(s);
  y[4] = make_vec<f32>(v.lane(3), s, 7, v.lane(0));
  Var<Vec<f32, 4>> w = v;
  w.set_lane(1, 50);
  w.set_lane(2, s);
  y[5] = w;
  y[6] = cast<f32>(cast<i32>(v / 2));
  z[0] = v.lane(0) * w.lane(1);
  static_assert(std::is_same_v<decltype(v > 2), Expr<Vec<bool, 4>>>);
  static_assert(std::is_same_v<decltype(cast<i32>(v)), Expr<Vec<i32, 4>>>);
}
TEST(Values, Vectors) {
  Host host;
  using V = Vec<f32, 4>;
  host.in(std::vector<V>{{{1, 2, 3, 4}}}).out<V>(7).out<f32>(1).scalar(10.f);
  run_one(&vectors, host, 1);
  EXPECT_EQ(host.get<f32>(1), (std::vector<f32>{11, 21, 31, 41, 1, 2, 3, 4,  -1, -2, 3, 4, 10, 10,
                                                10, 10, 4,  10, 7, 1, 1, 50, 10, 4,  0, 1, 1,  2}));
  EXPECT_EQ(host.get<f32>(2)[0], 50.f);
}

void compiled_in(Out<f32> y, Const<f32> a, Const<std::uint32_t> n) {
  const float host_value = a * 2 + 1;
  for (std::uint32_t i = 0; i < n; ++i) y[i] = host_value + i;
  y[unit_pos + std::uint32_t{n}] = cast<f32>(unit_pos) + a;
}
TEST(Values, ConstIsAHostNumber) {
  Host host;
  host.out<f32>(4);
  run_one(&compiled_in, host, 1, {{}, 1.5f, 3u});
  EXPECT_EQ(host.get<f32>(0), (std::vector<f32>{4, 5, 6, 1.5f}));
}

void topology(Out<u32> y) {
  const auto at = absolute_pos * 12;
  const auto put = [&](std::uint32_t i, auto v) { y[at + i] = cast<u32>(ex(v)); };
  put(0, unit_pos);
  put(1, unit_pos.x);
  put(2, unit_pos.y);
  put(3, cube_pos);
  put(4, cube_pos.x);
  put(5, cube_pos.y);
  put(6, cube_dim);
  put(7, cube_dim.y);
  put(8, cube_count);
  put(9, cube_count.x);
  put(10, absolute_pos.x);
  put(11, absolute_pos.y);
}
TEST(Values, Topology) {
  const auto kernel = traced(&topology, {2, 3, 1});
  ASSERT_TRUE(kernel) << kernel.error().message();
  Host host;
  host.out<u32>(12 * 24);
  EXPECT_FALSE(host.run(*kernel, {2, 2, 1}).fault);
  const auto got = host.get<u32>(0);
  for (u32 y = 0; y < 6; ++y) {
    for (u32 x = 0; x < 4; ++x) {
      const u32 ux = x % 2, uy = y % 3, cx = x / 2, cy = y / 3;
      const u32 want[] = {ux + 2 * uy, ux, uy, cx + 2 * cy, cx, cy, 6, 3, 4, 2, x, y};
      for (u32 i = 0; i < 12; ++i) {
        ASSERT_EQ(got[12 * (x + 4 * y) + i], want[i]) << x << ' ' << y << ' ' << i;
      }
    }
  }
}

// Literals round once, straight from what was written.
u32 only_constant(Result<ir::Kernel> kernel, Elem elem) {
  EXPECT_TRUE(kernel);
  if (!kernel) return 0;
  for (const ir::Region& r : kernel->regions) {
    for (const ir::Value v : r.ops) {
      const ir::Op& op = kernel->op(v);
      if (op.code == detail::Opcode::constant && op.type.elem == elem) {
        return static_cast<u32>(op.attr);
      }
    }
  }
  ADD_FAILURE() << "no constant";
  return 0;
}
void literal_f32(Out<f32> y) {
  y[0] = 0.1;
}
void literal_f16(Out<f16> y) {
  y[0] = 1.0 + 0x1p-11 + 0x1p-40;
}
void literal_bf16(Out<bf16> y) {
  y[0] = 1.0 + 0x1p-8 + 0x1p-40;
}
void literal_u64(Out<f32> y) {
  y[0] = (std::uint64_t{1} << 62) + (std::uint64_t{1} << 38) + 1;
}
TEST(Values, LiteralOfF32Rounds) {
  EXPECT_EQ(only_constant(traced(&literal_f32), Elem::f32), std::bit_cast<u32>(0.1f));
}
TEST(Values, LiteralsRoundOnce) {
  EXPECT_EQ(only_constant(traced(&literal_f16), Elem::f16), 0x3C01u);
  EXPECT_EQ(only_constant(traced(&literal_bf16), Elem::bf16), 0x3F81u);
  EXPECT_EQ(only_constant(traced(&literal_u64), Elem::f32),
            std::bit_cast<u32>(
                static_cast<float>((std::uint64_t{1} << 62) + (std::uint64_t{1} << 38) + 1)));
}

void shared_constants(Out<f32> y) {
  for (int i = 0; i < 5; ++i) y[0] = 2.5f;
}
TEST(Values, EqualConstantsAreShared) {
  const auto kernel = traced(&shared_constants);
  ASSERT_TRUE(kernel);
  EXPECT_EQ(count_ops(*kernel, detail::Opcode::constant), 2);
}
TEST(Values, TheSameTraceGivesTheSameText) {
  const auto one = traced(&variables), two = traced(&variables);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(ir::print(*one), ir::print(*two));
}

}  // namespace
}  // namespace tessera::lang::testing
