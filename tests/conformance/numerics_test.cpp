// SPDX-License-Identifier: MIT OR Apache-2.0
// Every lane-wise operation on edge values, on the device, against the functions that the
// interpreter and the constant folder use: bit for bit, but for the functions whose accuracy is a
// bound.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "conformance/on_device.hpp"
#include "ir/scalar_math.hpp"

namespace tessera::conformance {
namespace {

using detail::Opcode;

class Numerics : public OnDevice {
 protected:
  template <class T>
  static std::uint64_t bits(T value) {
    std::uint64_t out = 0;
    std::memcpy(&out, &value, sizeof value);
    return out;
  }
  template <class T, class R = T>
  static R want(Opcode code, std::initializer_list<T> args) {
    std::vector<std::uint64_t> words;
    for (const T a : args) words.push_back(bits(a));
    const std::uint64_t out =
        ir::eval_scalar(code, detail::elem_v<T>, detail::elem_v<R>, words, false);
    R value;
    std::memcpy(&value, &out, sizeof value);
    return value;
  }
  template <class T>
  static bool same(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    }
    return bits(a) == bits(b);
  }
  template <class T>
  static std::vector<T> edges() {
    using L = std::numeric_limits<T>;
    if constexpr (std::is_floating_point_v<T>) {
      return {T(0),          -T(0),          T(1),           T(-1),    T(0.5),       T(-2.5),
              T(3.5),        T(7),           T(1e10),        T(-3e20), L::max(),     -L::max(),
              L::infinity(), -L::infinity(), L::quiet_NaN(), T(0.1),   T(16777217.0)};
    } else {
      return {T(0),
              T(1),
              T(2),
              T(3),
              T(7),
              T(31),
              T(32),
              T(33),
              T(255),
              T(-1),
              T(-5),
              L::min(),
              L::max(),
              T(L::max() - 1),
              T(L::min() + 1),
              T(0x12345678),
              T(65536)};
    }
  }
  // All pairs of edge values.
  template <class T>
  void pairs(std::vector<T>& a, std::vector<T>& b) const {
    for (const T x : edges<T>()) {
      for (const T y : edges<T>()) {
        a.push_back(x);
        b.push_back(y);
      }
    }
  }
  template <class T, class R>
  void compare(const Buffer<R>& out, std::span<const Opcode> codes, const std::vector<T>& a,
               const std::vector<T>& b, bool unary) const {
    const std::vector<R> got = read(out);
    ASSERT_EQ(got.size(), codes.size() * a.size());
    for (std::size_t k = 0; k < codes.size(); ++k) {
      for (std::size_t i = 0; i < a.size(); ++i) {
        const R expected =
            unary ? want<T, R>(codes[k], {a[i]}) : want<T, R>(codes[k], {a[i], b[i]});
        ASSERT_TRUE(same(got[k * a.size() + i], expected))
            << "operation " << k << " of " << +a[i] << ", " << +b[i] << ": "
            << +got[k * a.size() + i] << " instead of " << +expected;
      }
    }
  }
};
TESSERA_ON_DEVICES(Numerics);

template <class T>
void integer_binary(In<T> a, In<T> b, Out<T> out) {
  const auto i = ex(absolute_pos), n = a.len();
  $if(i < n) {
    const Expr<T> x = a[i], y = b.load_or(i, 0);
    const Expr<T> results[] = {x + y,     x - y, x * y, x / y, x % y,  mod(x, y), min(x, y),
                               max(x, y), x & y, x | y, x ^ y, x << y, x >> y,    mul_hi(x, y)};
    u32 k = 0;
    for (const Expr<T>& r : results) out[n * k++ + i] = r;
  }
}
constexpr Opcode integer_binary_codes[] = {
    Opcode::add,     Opcode::sub, Opcode::mul, Opcode::div,     Opcode::rem,
    Opcode::mod,     Opcode::min, Opcode::max, Opcode::bit_and, Opcode::bit_or,
    Opcode::bit_xor, Opcode::shl, Opcode::shr, Opcode::mul_hi};

template <class T>
void integer_unary(In<T> a, Out<T> out) {
  const auto i = ex(absolute_pos), n = a.len();
  $if(i < n) {
    const Expr<T> x = a[i];
    const Expr<T> results[] = {
        -x, abs(x), ~x, count_ones(x), leading_zeros(x), trailing_zeros(x), reverse_bits(x)};
    u32 k = 0;
    for (const Expr<T>& r : results) out[n * k++ + i] = r;
  }
}
constexpr Opcode integer_unary_codes[] = {Opcode::neg,           Opcode::abs,
                                          Opcode::bit_not,       Opcode::count_ones,
                                          Opcode::leading_zeros, Opcode::trailing_zeros,
                                          Opcode::reverse_bits};

TEST_P(Numerics, IntegersSigned) {
  std::vector<i32> a, b;
  pairs(a, b);
  const auto x = up(a), y = up(b);
  const auto two = poisoned_i32(a.size() * std::size(integer_binary_codes));
  launch<integer_binary<i32>>(device(), Grid::over(a.size()), x, y, two);
  compare<i32, i32>(two, integer_binary_codes, a, b, false);
  const auto one = poisoned_i32(a.size() * std::size(integer_unary_codes));
  launch<integer_unary<i32>>(device(), Grid::over(a.size()), x, one);
  compare<i32, i32>(one, integer_unary_codes, a, b, true);
}

TEST_P(Numerics, IntegersUnsigned) {
  std::vector<u32> a, b;
  pairs(a, b);
  const auto x = up(a), y = up(b);
  const auto two = poisoned(a.size() * std::size(integer_binary_codes));
  launch<integer_binary<u32>>(device(), Grid::over(a.size()), x, y, two);
  compare<u32, u32>(two, integer_binary_codes, a, b, false);
  const auto one = poisoned(a.size() * std::size(integer_unary_codes));
  launch<integer_unary<u32>>(device(), Grid::over(a.size()), x, one);
  compare<u32, u32>(one, integer_unary_codes, a, b, true);
}

void float_exact(In<f32> a, In<f32> b, Out<f32> out) {
  const auto i = ex(absolute_pos), n = a.len();
  $if(i < n) {
    const Expr<f32> x = a[i], y = b.load_or(i, 0);
    const Expr<f32> results[] = {x + y, x - y, x * y, min(x, y), max(x, y)};
    u32 k = 0;
    for (const Expr<f32>& r : results) out[n * k++ + i] = r;
  }
}
constexpr Opcode float_exact_codes[] = {Opcode::add, Opcode::sub, Opcode::mul, Opcode::min,
                                        Opcode::max};

void float_rounding(In<f32> a, Out<f32> out) {
  const auto i = ex(absolute_pos), n = a.len();
  $if(i < n) {
    const Expr<f32> x = a[i];
    const Expr<f32> results[] = {-x, abs(x), floor(x), ceil(x), trunc(x), round(x)};
    u32 k = 0;
    for (const Expr<f32>& r : results) out[n * k++ + i] = r;
  }
}
constexpr Opcode float_rounding_codes[] = {Opcode::neg,  Opcode::abs,   Opcode::floor,
                                           Opcode::ceil, Opcode::trunc, Opcode::round};

TEST_P(Numerics, FloatsExact) {
  std::vector<f32> a, b;
  pairs(a, b);
  const auto x = up(a), y = up(b);
  const auto two = poisoned_f32(a.size() * std::size(float_exact_codes));
  launch<float_exact>(device(), Grid::over(a.size()), x, y, two);
  compare<f32, f32>(two, float_exact_codes, a, b, false);
  const auto one = poisoned_f32(a.size() * std::size(float_rounding_codes));
  launch<float_rounding>(device(), Grid::over(a.size()), x, one);
  compare<f32, f32>(one, float_rounding_codes, a, b, true);
}

void float_functions(In<f32> a, Out<f32> out) {
  const auto i = ex(absolute_pos), n = a.len();
  $if(i < n) {
    const Expr<f32> x = a[i];
    const Expr<f32> results[] = {sqrt(x), inverse_sqrt(x), exp2(x), log2(x),
                                 exp(x),  log(x),          1.0f / x};
    u32 k = 0;
    for (const Expr<f32>& r : results) out[n * k++ + i] = r;
  }
}

TEST_P(Numerics, FunctionsStayWithinTheirBound) {
  std::vector<f32> a;
  for (int i = 1; i <= 200; ++i) a.push_back(static_cast<f32>(i) * 0.11f);
  const auto out = poisoned_f32(a.size() * 7);
  launch<float_functions>(device(), Grid::over(a.size()), up(a), out);
  const auto got = read(out);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i];
    const double exact[] = {std::sqrt(x), 1 / std::sqrt(x), std::exp2(x), std::log2(x),
                            std::exp(x),  std::log(x),      1 / x};
    for (std::size_t k = 0; k < 7; ++k) {
      // 2^-18 of the value, as WGSL allows for its least exact function here, plus its absolute
      // bound for logarithms near 1.
      const double bound = (webgpu() ? 0x1p-18 : 0x1p-22) * std::fabs(exact[k]) + 0x1p-21;
      ASSERT_NEAR(got[k * a.size() + i], exact[k], bound) << "function " << k << " of " << x;
    }
  }
}

void conversions(In<i32> a, In<u32> b, Out<f32> from_signed, Out<f32> from_unsigned,
                 Out<i32> same) {
  const auto i = ex(absolute_pos);
  $if(i < a.len()) {
    from_signed[i] = cast<f32>(a[i]);
    from_unsigned[i] = cast<f32>(b.load_or(i, 0u));
    same[i] = bitcast<i32>(cast<f32>(cast<bool>(a[i]))) + cast<i32>(b.load_or(i, 0u));
  }
}

TEST_P(Numerics, ConversionsFromIntegers) {
  std::vector<i32> a = edges<i32>();
  std::vector<u32> b = edges<u32>();
  a.push_back(16777217);
  b.push_back(0xffffff7fu);
  for (u32 k = 1, state = 1; k <= 2000; ++k) {
    state = state * 1664525u + 1013904223u;
    b.push_back(state >> (k % 9));
    a.push_back(static_cast<i32>(state * 2654435761u) >> (k % 9));
  }
  const auto s = poisoned_f32(a.size()), u = poisoned_f32(a.size());
  const auto n = poisoned_i32(a.size());
  launch<conversions>(device(), Grid::over(a.size()), up(a), up(b), s, u, n);
  const auto gs = read(s), gu = read(u);
  const auto gn = read(n);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(gs[i], static_cast<f32>(a[i]));
    EXPECT_EQ(gu[i], static_cast<f32>(b[i]));
    const u32 one = std::bit_cast<u32>(a[i] != 0 ? 1.0f : 0.0f);
    EXPECT_EQ(gn[i], static_cast<i32>(one + b[i]));
  }
}

}  // namespace
}  // namespace tessera::conformance
