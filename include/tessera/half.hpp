// SPDX-License-Identifier: MIT OR Apache-2.0
// The two 16-bit float types of the host. Conversions round to nearest even, keep NaN and
// infinities, overflow to infinity, and are exact for subnormals: the rule every device follows.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace tessera::inline v0 {

namespace detail {
std::uint16_t f16_bits(float value) noexcept;
float f16_value(std::uint16_t bits) noexcept;
std::uint16_t bf16_bits(float value) noexcept;
float bf16_value(std::uint16_t bits) noexcept;
}  // namespace detail

/// IEEE 754 binary16.
class f16 {
 public:
  f16() = default;
  explicit f16(float value) noexcept : bits_(detail::f16_bits(value)) {}
  explicit operator float() const noexcept { return detail::f16_value(bits_); }
  static constexpr f16 from_bits(std::uint16_t bits) noexcept {
    f16 h;
    h.bits_ = bits;
    return h;
  }
  constexpr std::uint16_t bits() const noexcept { return bits_; }
  friend bool operator==(f16 a, f16 b) noexcept { return float(a) == float(b); }
  friend auto operator<=>(f16 a, f16 b) noexcept { return float(a) <=> float(b); }

 private:
  std::uint16_t bits_ = 0;
};

/// bfloat16: the upper half of binary32.
class bf16 {
 public:
  bf16() = default;
  explicit bf16(float value) noexcept : bits_(detail::bf16_bits(value)) {}
  explicit operator float() const noexcept { return detail::bf16_value(bits_); }
  static constexpr bf16 from_bits(std::uint16_t bits) noexcept {
    bf16 h;
    h.bits_ = bits;
    return h;
  }
  constexpr std::uint16_t bits() const noexcept { return bits_; }
  friend bool operator==(bf16 a, bf16 b) noexcept { return float(a) == float(b); }
  friend auto operator<=>(bf16 a, bf16 b) noexcept { return float(a) <=> float(b); }

 private:
  std::uint16_t bits_ = 0;
};

}  // namespace tessera::inline v0

template <>
class std::numeric_limits<tessera::f16> {
 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr int digits = 11;
  static constexpr int max_exponent = 16;
  static constexpr int min_exponent = -13;
  static constexpr tessera::f16 min() noexcept { return tessera::f16::from_bits(0x0400); }
  static constexpr tessera::f16 max() noexcept { return tessera::f16::from_bits(0x7BFF); }
  static constexpr tessera::f16 lowest() noexcept { return tessera::f16::from_bits(0xFBFF); }
  static constexpr tessera::f16 epsilon() noexcept { return tessera::f16::from_bits(0x1400); }
  static constexpr tessera::f16 denorm_min() noexcept { return tessera::f16::from_bits(0x0001); }
  static constexpr tessera::f16 infinity() noexcept { return tessera::f16::from_bits(0x7C00); }
  static constexpr tessera::f16 quiet_NaN() noexcept { return tessera::f16::from_bits(0x7E00); }
};

template <>
class std::numeric_limits<tessera::bf16> {
 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr int digits = 8;
  static constexpr int max_exponent = 128;
  static constexpr int min_exponent = -125;
  static constexpr tessera::bf16 min() noexcept { return tessera::bf16::from_bits(0x0080); }
  static constexpr tessera::bf16 max() noexcept { return tessera::bf16::from_bits(0x7F7F); }
  static constexpr tessera::bf16 lowest() noexcept { return tessera::bf16::from_bits(0xFF7F); }
  static constexpr tessera::bf16 epsilon() noexcept { return tessera::bf16::from_bits(0x3C00); }
  static constexpr tessera::bf16 denorm_min() noexcept { return tessera::bf16::from_bits(0x0001); }
  static constexpr tessera::bf16 infinity() noexcept { return tessera::bf16::from_bits(0x7F80); }
  static constexpr tessera::bf16 quiet_NaN() noexcept { return tessera::bf16::from_bits(0x7FC0); }
};
