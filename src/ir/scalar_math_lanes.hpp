// SPDX-License-Identifier: MIT OR Apache-2.0
// How lanes are decoded, computed and encoded; shared by the scalar_math_*.cpp files alone.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ir/scalar_math.hpp"

namespace tessera::ir::math {

template <std::integral T>
struct IntLane {
  using Value = T;
  static T decode(std::uint64_t w) { return static_cast<T>(w); }
  static std::uint64_t encode(T v) { return static_cast<std::make_unsigned_t<T>>(v); }
};

struct BoolLane {
  using Value = bool;
  static bool decode(std::uint64_t w) { return (w & 1) != 0; }
  static std::uint64_t encode(bool v) { return v ? 1 : 0; }
};

struct F32Lane {
  using Value = float;
  static float decode(std::uint64_t w) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(w));
  }
  static std::uint64_t encode(float v) {
    return v != v ? std::uint32_t{0x7FC00000} : std::bit_cast<std::uint32_t>(v);
  }
  static constexpr std::uint64_t sign = std::uint64_t{1} << 31;
};

struct F64Lane {
  using Value = double;
  static double decode(std::uint64_t w) { return std::bit_cast<double>(w); }
  static std::uint64_t encode(double v) {
    return v != v ? std::uint64_t{0x7FF8000000000000} : std::bit_cast<std::uint64_t>(v);
  }
  static constexpr std::uint64_t sign = std::uint64_t{1} << 63;
};

// The 16-bit floats compute in f32 and round once at the end.
struct F16Lane {
  using Value = float;
  static float decode(std::uint64_t w) { return detail::f16_value(static_cast<std::uint16_t>(w)); }
  static std::uint64_t encode(float v) { return v != v ? 0x7E00 : detail::f16_bits(v); }
  static constexpr std::uint64_t sign = 0x8000;
};

struct BF16Lane {
  using Value = float;
  static float decode(std::uint64_t w) { return detail::bf16_value(static_cast<std::uint16_t>(w)); }
  static std::uint64_t encode(float v) { return v != v ? 0x7FC0 : detail::bf16_bits(v); }
  static constexpr std::uint64_t sign = 0x8000;
};

template <class Lane, class Out, class F>
void unary(std::uint64_t* __restrict__ out, const std::uint64_t* a, const std::uint64_t*,
           const std::uint64_t*, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = Out::encode(F::apply(Lane::decode(a[i])));
}

template <class Lane, class Out, class F>
void binary(std::uint64_t* __restrict__ out, const std::uint64_t* a, const std::uint64_t* b,
            const std::uint64_t*, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = Out::encode(F::apply(Lane::decode(a[i]), Lane::decode(b[i])));
  }
}

template <class Lane, class Out, class F>
void ternary(std::uint64_t* __restrict__ out, const std::uint64_t* a, const std::uint64_t* b,
             const std::uint64_t* c, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = Out::encode(F::apply(Lane::decode(a[i]), Lane::decode(b[i]), Lane::decode(c[i])));
  }
}

// One of these per kind of operand element; null where the kind lacks the operation.
LaneFunction int_function(Opcode code, Elem elem, bool wide_index) noexcept;
LaneFunction float_function(Opcode code, Elem elem) noexcept;
LaneFunction cast_function(Elem from, Elem to, bool wide_index) noexcept;

/// To f32 with "round to odd": a later rounding to fewer bits is then as if done at once.
float odd_float(double value) noexcept;
float odd_float(std::uint64_t magnitude, bool negative) noexcept;

}  // namespace tessera::ir::math
