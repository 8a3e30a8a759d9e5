// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tessera/half.hpp"

#include <bit>

namespace tessera::inline v0::detail {
namespace {

// Drops the low `bits` bits, to nearest, halves to even.
std::uint32_t round_off(std::uint32_t value, int bits) {
  const std::uint32_t half = std::uint32_t{1} << (bits - 1);
  const std::uint32_t odd = (value >> bits) & 1;
  return (value + half - 1 + odd) >> bits;
}

}  // namespace

std::uint16_t f16_bits(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    // A NaN stays one: its upper payload, made quiet.
    return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  }
  if (magnitude >= 0x47800000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // >= 2^16
  if (magnitude >= 0x38800000u) {
    // Normal: rebias the exponent; rounding may carry into it, up to infinity.
    return static_cast<std::uint16_t>(sign | round_off(magnitude - 0x38000000u, 13));
  }
  if (magnitude < 0x33000000u) return sign;  // below half the smallest subnormal
  const int exponent = static_cast<int>(magnitude >> 23);
  const std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  return static_cast<std::uint16_t>(sign | round_off(mantissa, 126 - exponent));
}

float f16_value(std::uint16_t bits) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0) {
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  }
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

std::uint16_t bf16_bits(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float bf16_value(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace tessera::inline v0::detail
