// SPDX-License-Identifier: MIT OR Apache-2.0
// What users of such software met in arithmetic: remainders of negative numbers, conversions out of
// range, NaN in clamps and comparisons. Each in three forms: operands from buffers, both known
// while tracing, one of each; all must agree.
#include <cmath>
#include <limits>

#include "conformance/on_device.hpp"

namespace tessera::conformance {
namespace {

class Arithmetic : public OnDevice {};
TESSERA_ON_DEVICES(Arithmetic);

constexpr f32 nan = std::numeric_limits<f32>::quiet_NaN();
constexpr f32 inf = std::numeric_limits<f32>::infinity();
constexpr i32 lowest = std::numeric_limits<i32>::min();

void remainders(In<i32> a, In<i32> b, Out<i32> rem, Out<i32> floored, Out<i32> quotient) {
  const auto i = ex(absolute_pos);
  $if(i < rem.len()) {
    const Expr<i32> x = a.load_or(i, 0), y = b.load_or(i, 0);
    rem[i] = x % y;
    floored[i] = mod(x, y);
    quotient[i] = x / y;
  }
}

struct Pair {
  i32 a = 0, b = 0;
};

template <bool FixA, bool FixB>
void folded(In<i32> a, In<i32> b, Out<i32> out, Pair p) {
  const Expr<i32> x = FixA ? Expr<i32>(p.a) : a[0], y = FixB ? Expr<i32>(p.b) : b[0];
  out[0] = x % y;
  out[1] = mod(x, y);
  out[2] = x / y;
}

i32 floor_mod(i32 a, i32 b) {
  if (b == 0) return 0;
  if (b == -1) return 0;
  const i32 r = a % b;
  return r != 0 && (r ^ b) < 0 ? r + b : r;
}

TEST_P(Arithmetic, Entry1RemainderOfNegativeNumbers) {
  std::vector<i32> a = {-1,   -5, -768, -769, -1000, 0,      5,      768,
                        1000, -7, 7,    5,    -5,    lowest, lowest, 17};
  std::vector<i32> b = {768, 768, 768, 768, 768, 768, 768, 768, 768, -3, -3, 0, 0, -1, 1, 16};
  const std::vector<i32> want_rem = {-1, -5, 0, -1, -232, 0, 5, 0, 232, -1, 1, 0, 0, 0, 0, 1};
  const auto n = a.size();
  const auto rem = poisoned_i32(n), floored = poisoned_i32(n), quotient = poisoned_i32(n);
  launch<remainders>(device(), Grid::over(n), up(a), up(b), rem, floored, quotient);
  const auto r = read(rem), f = read(floored), q = read(quotient);
  for (std::size_t i = 0; i < n; ++i) {
    const i32 want_q = b[i] == 0    ? a[i]
                       : b[i] == -1 ? static_cast<i32>(0u - static_cast<u32>(a[i]))
                                    : a[i] / b[i];
    EXPECT_EQ(r[i], want_rem[i]) << a[i] << " % " << b[i];
    EXPECT_EQ(f[i], floor_mod(a[i], b[i])) << a[i] << " mod " << b[i];
    EXPECT_EQ(q[i], want_q) << a[i] << " / " << b[i];
    const Pair p{a[i], b[i]};
    const auto xa = up(std::vector<i32>{a[i]}), xb = up(std::vector<i32>{b[i]});
    const auto form = [&](auto launched) {
      const auto out = poisoned_i32(3);
      launched(out);
      EXPECT_EQ(read(out), (std::vector<i32>{r[i], f[i], q[i]})) << a[i] << ", " << b[i];
    };
    const Grid one({1, 1, 1}, {1, 1, 1});
    if (i % 3 == 0) form([&](auto& o) { launch<folded<true, true>>(device(), one, xa, xb, o, p); });
    if (i % 3 == 1)
      form([&](auto& o) { launch<folded<true, false>>(device(), one, xa, xb, o, p); });
    if (i % 3 == 2)
      form([&](auto& o) { launch<folded<false, true>>(device(), one, xa, xb, o, p); });
  }
}

void to_integers(In<f32> x, Out<i32> i, Out<u32> u) {
  $if(absolute_pos < i.len()) {
    const Expr<f32> v = x.load_or(absolute_pos, 0);
    i[absolute_pos] = cast<i32>(v);
    u[absolute_pos] = cast<u32>(v);
  }
}

template <int N>
struct Values {
  std::array<f32, N> at{};
};

void to_integers_folded(Out<i32> i, Out<u32> u, Values<10> v) {
  for (u32 k = 0; k < v.at.size(); ++k) {
    i[k] = cast<i32>(Expr<f32>(v.at[k]));
    u[k] = cast<u32>(Expr<f32>(v.at[k]));
  }
}

TEST_P(Arithmetic, Entry5FloatToIntegerSaturates) {
  const Values<10> v{{1e20f, -1e20f, 1e10f, -5.5f, 3.99f, -0.9f, nan, inf, -inf, 2147483520.0f}};
  const std::vector<i32> want_i = {2147483647, lowest, 2147483647, -5,     3,
                                   0,          0,      2147483647, lowest, 2147483520};
  const std::vector<u32> want_u = {4294967295u, 0, 4294967295u, 0, 3,
                                   0,           0, 4294967295u, 0, 2147483520u};
  const auto i = poisoned_i32(10), fi = poisoned_i32(10);
  const auto u = poisoned(10), fu = poisoned(10);
  launch<to_integers>(device(), Grid::over(10), up(std::vector<f32>(v.at.begin(), v.at.end())), i,
                      u);
  launch<to_integers_folded>(device(), Grid({1, 1, 1}, {1, 1, 1}), fi, fu, v);
  EXPECT_EQ(read(i), want_i);
  EXPECT_EQ(read(u), want_u);
  EXPECT_EQ(read(fi), want_i);
  EXPECT_EQ(read(fu), want_u);
}

void to_bytes(In<f32> x, Out<u8> u, Out<i8> i) {
  $if(absolute_pos < x.len()) {
    u[absolute_pos] = cast<u8>(x[absolute_pos]);
    i[absolute_pos] = cast<i8>(x[absolute_pos]);
  }
}

TEST_P(Arithmetic, Entry5NarrowIntegersSaturateOrAreRefusedByName) {
  const auto u = device().full<u8>(3, u8{77});
  const auto i = device().full<i8>(3, i8{77});
  launch<to_bytes>(device(), Grid::over(3), up(std::vector<f32>{300, -1, 200.7f}), u, i);
  if (webgpu()) {
    const auto refused = u.to_vector();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().root().kind(), ErrorKind::Unsupported);
    EXPECT_NE(refused.error().root().message().find("u8"), std::string::npos);
    return;
  }
  EXPECT_EQ(read(u), (std::vector<u8>{255, 0, 200}));
  EXPECT_EQ(read(i), (std::vector<i8>{127, -1, 127}));
}

void clamps(In<f32> x, In<f32> one, Out<f32> out) {
  const auto i = ex(absolute_pos);
  $if(i < x.len()) {
    const Expr<f32> v = x[i];
    out[i * 5] = clamp(v, 0, 1);
    out[i * 5 + 1] = min(v, one[0]);
    out[i * 5 + 2] = min(ex(one[0]), v);
    out[i * 5 + 3] = max(v, 1);
    out[i * 5 + 4] = max(ex(one[0]), v);
  }
}

TEST_P(Arithmetic, Entry6ClampMinMaxKeepNaN) {
  const auto out = poisoned_f32(15);
  launch<clamps>(device(), Grid::over(3), up(std::vector<f32>{nan, -1, 2}), up(std::vector<f32>{1}),
                 out);
  const auto got = read(out);
  for (int k = 0; k < 5; ++k) EXPECT_TRUE(std::isnan(got[static_cast<std::size_t>(k)])) << k;
  EXPECT_EQ(std::vector<f32>(got.begin() + 5, got.end()),
            (std::vector<f32>{0, -1, -1, 1, 1, 1, 1, 1, 2, 2}));
}

void comparisons(In<f32> x, In<f32> y, Out<u32> out) {
  const auto i = ex(absolute_pos);
  $if(i < x.len()) {
    const Expr<f32> a = x[i], b = y.load_or(i, 0);
    out[i] = cast<u32>(a < b) | (cast<u32>(a <= b) << 1u) | (cast<u32>(a > b) << 2u) |
             (cast<u32>(a >= b) << 3u) | (cast<u32>(a == b) << 4u) | (cast<u32>(a != b) << 5u) |
             (cast<u32>(is_nan(a)) << 6u) | (cast<u32>(is_inf(a)) << 7u);
  }
}

TEST_P(Arithmetic, Entry6ComparisonsWithNaN) {
  const auto out = poisoned(5);
  launch<comparisons>(device(), Grid::over(5), up(std::vector<f32>{nan, 1, nan, 1, -inf}),
                      up(std::vector<f32>{1, nan, nan, 1, inf}), out);
  EXPECT_EQ(read(out), (std::vector<u32>{0x60, 0x20, 0x60, 0x1a, 0xa3}));
}

void integer_clamps(In<i32> x, Out<i32> out) {
  out[0] = clamp(ex(x[0]), 46, 6);
  out[1] = clamp(ex(x[0]), 2, 1);
  out[2] = clamp(Expr<i32>(3), 46, 6);
  out[3] = clamp(Expr<i32>(3), 2, 1);
}

TEST_P(Arithmetic, Entry6IntegerClampIsMinOfMax) {
  const auto out = poisoned_i32(4);
  launch<integer_clamps>(device(), Grid({1, 1, 1}, {1, 1, 1}), up(std::vector<i32>{3}), out);
  EXPECT_EQ(read(out), (std::vector<i32>{6, 1, 6, 1}));
}

}  // namespace
}  // namespace tessera::conformance
