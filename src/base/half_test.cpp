// SPDX-License-Identifier: MIT OR Apache-2.0
// The 16-bit float types against their definition: every code, every tie between two neighbours,
// and the float on each side of every tie.
#include "tessera/half.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tessera {
namespace {

// The value of a code by the definition of the format, in double, without any bit tricks.
double defined(std::uint32_t code, int mantissa_bits, int exponent_bits) {
  const std::uint32_t mantissa = code & ((1u << mantissa_bits) - 1);
  const int top = (1 << exponent_bits) - 1;
  const int exponent = static_cast<int>(code >> mantissa_bits) & top;
  const int bias = top / 2;
  const double sign = (code & 0x8000u) != 0 ? -1.0 : 1.0;
  const double unit = std::ldexp(1.0, -mantissa_bits);
  if (exponent == top) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa * unit, 1 - bias);
  return sign * std::ldexp(1.0 + mantissa * unit, exponent - bias);
}

template <class H>
struct Format;
template <>
struct Format<f16> {
  static constexpr int mantissa = 10, exponent = 5;
};
template <>
struct Format<bf16> {
  static constexpr int mantissa = 7, exponent = 8;
};

template <class H>
double defined(std::uint32_t code) {
  return defined(code, Format<H>::mantissa, Format<H>::exponent);
}
template <class H>
constexpr std::uint32_t infinity_code = ((1u << Format<H>::exponent) - 1) << Format<H>::mantissa;

template <class H>
class Half : public testing::Test {};
using HalfTypes = testing::Types<f16, bf16>;
TYPED_TEST_SUITE(Half, HalfTypes);

TYPED_TEST(Half, EveryCodeHasTheDefinedValueAndComesBack) {
  using H = TypeParam;
  for (std::uint32_t code = 0; code < 0x10000u; ++code) {
    const H h = H::from_bits(static_cast<std::uint16_t>(code));
    const float value = static_cast<float>(h);
    const double expected = defined<H>(code);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << std::hex << code;
      const H back(value);
      ASSERT_TRUE(std::isnan(static_cast<float>(back))) << std::hex << code;
      ASSERT_EQ(back.bits() & 0x8000u, code & 0x8000u) << std::hex << code;
      continue;
    }
    ASSERT_EQ(static_cast<double>(value), expected) << std::hex << code;
    ASSERT_EQ(std::signbit(value), (code & 0x8000u) != 0) << std::hex << code;
    ASSERT_EQ(H(value).bits(), code) << std::hex << code;
  }
}

// Half way between two neighbours the even code wins; a float nearer to one gives that one. The
// step above the greatest finite value counts as its neighbour, and is infinity.
TYPED_TEST(Half, TiesGoToTheEvenCodeAndAllElseToTheNearest) {
  using H = TypeParam;
  for (std::uint32_t low = 0; low < infinity_code<H>; ++low) {
    const double a = defined<H>(low);
    const double b =
        low + 1 == infinity_code<H> ? 2 * a - defined<H>(low - 1) : defined<H>(low + 1);
    const double exact = a + (b - a) / 2;
    const float tie = static_cast<float>(exact);
    // bf16's subnormals and binary32's have ties that binary32 holds too: none is lost here.
    ASSERT_EQ(static_cast<double>(tie), exact) << std::hex << low;
    const float below = std::nextafter(tie, 0.0f);
    const float above = std::nextafter(tie, std::numeric_limits<float>::infinity());
    const std::uint32_t even = (low & 1) == 0 ? low : low + 1;
    ASSERT_EQ(H(tie).bits(), even) << std::hex << low;
    ASSERT_EQ(H(below).bits(), low) << std::hex << low;
    ASSERT_EQ(H(above).bits(), low + 1) << std::hex << low;
    ASSERT_EQ(H(-tie).bits(), even | 0x8000u) << std::hex << low;
    ASSERT_EQ(H(-below).bits(), low | 0x8000u) << std::hex << low;
    ASSERT_EQ(H(-above).bits(), (low + 1) | 0x8000u) << std::hex << low;
  }
}

TYPED_TEST(Half, TooLargeIsInfinityAndTooSmallIsASignedZero) {
  using H = TypeParam;
  const float huge = std::numeric_limits<float>::max();
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(H(huge).bits(), infinity_code<H>);
  EXPECT_EQ(H(-huge).bits(), infinity_code<H> | 0x8000u);
  EXPECT_EQ(H(std::numeric_limits<float>::infinity()).bits(), infinity_code<H>);
  EXPECT_EQ(H(tiny).bits(), 0u);
  EXPECT_EQ(H(-tiny).bits(), 0x8000u);
  EXPECT_EQ(H(-0.0f).bits(), 0x8000u);
}

TYPED_TEST(Half, NoNanBecomesInfinityWhereverItsPayloadLies) {
  using H = TypeParam;
  for (int bit = 0; bit < 23; ++bit) {
    for (const std::uint32_t sign : {0u, 0x80000000u}) {
      const H h(std::bit_cast<float>(sign | 0x7f800000u | (1u << bit)));
      EXPECT_TRUE(std::isnan(static_cast<float>(h))) << bit;
      EXPECT_EQ(h.bits() & 0x8000u, sign >> 16) << bit;
    }
  }
}

TYPED_TEST(Half, ComparesAsNumbersDo) {
  using H = TypeParam;
  const H nan = std::numeric_limits<H>::quiet_NaN();
  EXPECT_TRUE(H(0.0f) == H(-0.0f));
  EXPECT_FALSE(nan == nan);
  EXPECT_FALSE(nan < H(1.0f));
  EXPECT_FALSE(nan >= H(1.0f));
  EXPECT_TRUE(H(-2.0f) < H(1.0f));
  EXPECT_TRUE(std::numeric_limits<H>::infinity() > std::numeric_limits<H>::max());
}

TYPED_TEST(Half, LimitsAreThoseOfTheFormat) {
  using H = TypeParam;
  using L = std::numeric_limits<H>;
  EXPECT_EQ(static_cast<double>(static_cast<float>(L::max())), defined<H>(infinity_code<H> - 1));
  EXPECT_EQ(static_cast<float>(L::lowest()), -static_cast<float>(L::max()));
  EXPECT_EQ(static_cast<double>(static_cast<float>(L::min())),
            defined<H>(1u << Format<H>::mantissa));
  EXPECT_EQ(static_cast<double>(static_cast<float>(L::denorm_min())), defined<H>(1));
  EXPECT_EQ(L::digits, Format<H>::mantissa + 1);
  EXPECT_EQ(static_cast<float>(L::epsilon()), std::ldexp(1.0f, 1 - L::digits));
  EXPECT_EQ(static_cast<float>(L::min()), std::ldexp(1.0f, L::min_exponent - 1));
  EXPECT_TRUE(std::isinf(static_cast<float>(H(std::ldexp(1.0f, L::max_exponent)))));
  EXPECT_TRUE(std::isinf(static_cast<float>(L::infinity())));
  EXPECT_TRUE(std::isnan(static_cast<float>(L::quiet_NaN())));
}

}  // namespace
}  // namespace tessera
