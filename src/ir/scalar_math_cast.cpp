// SPDX-License-Identifier: MIT OR Apache-2.0
// Conversions: integers modulo their width, floats to integers with saturation, to floats rounded
// once to nearest even.
#include <cmath>
#include <limits>

#include "ir/scalar_math_lanes.hpp"

namespace tessera::ir::math {
namespace {

template <class L>
inline constexpr bool is_half = std::is_same_v<L, F16Lane> || std::is_same_v<L, BF16Lane>;

template <class To, class From>
To saturate(From x) {
  if (x != x) return 0;
  const From above = std::ldexp(From(1), std::numeric_limits<To>::digits);  // max + 1, exact
  if (x >= above) return std::numeric_limits<To>::max();
  if (x <= static_cast<From>(std::numeric_limits<To>::min())) {
    return std::numeric_limits<To>::min();
  }
  return static_cast<To>(x);
}

template <class From, class To>
std::uint64_t convert(std::uint64_t word) {
  using A = typename From::Value;
  using B = typename To::Value;
  const A x = From::decode(word);
  if constexpr (std::is_same_v<From, To>) {
    return word;
  } else if constexpr (std::is_same_v<To, BoolLane>) {
    return x != A(0) ? 1 : 0;
  } else if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
    return To::encode(static_cast<B>(x));
  } else if constexpr (std::is_integral_v<B>) {
    return To::encode(saturate<B>(x));
  } else if constexpr (std::is_integral_v<A>) {
    if constexpr (is_half<To>) {
      const bool negative = x < A(0);
      const auto bits = static_cast<std::uint64_t>(x);
      return To::encode(odd_float(negative ? 0 - bits : bits, negative));
    } else {
      return To::encode(static_cast<B>(x));
    }
  } else if constexpr (std::is_same_v<From, F64Lane> && is_half<To>) {
    return To::encode(odd_float(x));
  } else {
    return To::encode(static_cast<B>(x));
  }
}

template <class From, class To>
void cast(std::uint64_t* __restrict__ out, const std::uint64_t* a, const std::uint64_t*,
          const std::uint64_t*, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = convert<From, To>(a[i]);
}

template <class From>
LaneFunction pick_to(Elem to, bool wide_index) noexcept {
  switch (to) {
    case Elem::boolean:
      return &cast<From, BoolLane>;
    case Elem::i8:
      return &cast<From, IntLane<std::int8_t>>;
    case Elem::i16:
      return &cast<From, IntLane<std::int16_t>>;
    case Elem::i32:
      return &cast<From, IntLane<std::int32_t>>;
    case Elem::i64:
      return &cast<From, IntLane<std::int64_t>>;
    case Elem::u8:
      return &cast<From, IntLane<std::uint8_t>>;
    case Elem::u16:
      return &cast<From, IntLane<std::uint16_t>>;
    case Elem::u32:
      return &cast<From, IntLane<std::uint32_t>>;
    case Elem::u64:
      return &cast<From, IntLane<std::uint64_t>>;
    case Elem::index:
      return wide_index ? &cast<From, IntLane<std::uint64_t>> : &cast<From, IntLane<std::uint32_t>>;
    case Elem::f16:
      return &cast<From, F16Lane>;
    case Elem::bf16:
      return &cast<From, BF16Lane>;
    case Elem::f32:
      return &cast<From, F32Lane>;
    case Elem::f64:
      return &cast<From, F64Lane>;
    case Elem::none:
      break;
  }
  return nullptr;
}

}  // namespace

LaneFunction cast_function(Elem from, Elem to, bool wide_index) noexcept {
  switch (from) {
    case Elem::boolean:
      return pick_to<BoolLane>(to, wide_index);
    case Elem::i8:
      return pick_to<IntLane<std::int8_t>>(to, wide_index);
    case Elem::i16:
      return pick_to<IntLane<std::int16_t>>(to, wide_index);
    case Elem::i32:
      return pick_to<IntLane<std::int32_t>>(to, wide_index);
    case Elem::i64:
      return pick_to<IntLane<std::int64_t>>(to, wide_index);
    case Elem::u8:
      return pick_to<IntLane<std::uint8_t>>(to, wide_index);
    case Elem::u16:
      return pick_to<IntLane<std::uint16_t>>(to, wide_index);
    case Elem::u32:
      return pick_to<IntLane<std::uint32_t>>(to, wide_index);
    case Elem::u64:
      return pick_to<IntLane<std::uint64_t>>(to, wide_index);
    case Elem::index:
      return wide_index ? pick_to<IntLane<std::uint64_t>>(to, wide_index)
                        : pick_to<IntLane<std::uint32_t>>(to, wide_index);
    case Elem::f16:
      return pick_to<F16Lane>(to, wide_index);
    case Elem::bf16:
      return pick_to<BF16Lane>(to, wide_index);
    case Elem::f32:
      return pick_to<F32Lane>(to, wide_index);
    case Elem::f64:
      return pick_to<F64Lane>(to, wide_index);
    case Elem::none:
      break;
  }
  return nullptr;
}

}  // namespace tessera::ir::math
