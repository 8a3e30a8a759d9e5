// SPDX-License-Identifier: MIT OR Apache-2.0
// Element types: their names in the language, their C++ types on the host, their properties.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tessera/half.hpp"

namespace tessera::inline v0 {

// Before the aliases of the same names, or GCC 12 takes the enumerators for shadowing ones.
enum class Elem : std::uint8_t {
  none,
  boolean,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f16,
  bf16,
  f32,
  f64,
  index,
};

// The names of the language are element types (a variable is Var<f32>).
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using f32 = float;
using f64 = double;

/// The type of positions, lengths and shapes inside kernels: u32 where every extent and offset of
/// a launch is below 2^31, else u64. Kernels never see which. Not an element of buffers.
struct Index {};

/// N lanes held by one unit. As an element it is N consecutive elements, aligned to their size
/// together. N is 2 or 4.
template <class T, int N>
struct Vec {
  static_assert(N == 2 || N == 4, "tessera: a vector has 2 or 4 lanes");
  T lanes[N];
};

constexpr bool is_float(Elem e) noexcept {
  return e >= Elem::f16 && e <= Elem::f64;
}
constexpr bool is_signed_int(Elem e) noexcept {
  return e >= Elem::i8 && e <= Elem::i64;
}
constexpr bool is_unsigned_int(Elem e) noexcept {
  return (e >= Elem::u8 && e <= Elem::u64) || e == Elem::index;
}
constexpr bool is_int(Elem e) noexcept {
  return is_signed_int(e) || is_unsigned_int(e);
}

/// Bytes of one element in a buffer; 0 for none, boolean and index, which no buffer holds.
constexpr std::size_t size_of(Elem e) noexcept {
  switch (e) {
    case Elem::i8:
    case Elem::u8:
      return 1;
    case Elem::i16:
    case Elem::u16:
    case Elem::f16:
    case Elem::bf16:
      return 2;
    case Elem::i32:
    case Elem::u32:
    case Elem::f32:
      return 4;
    case Elem::i64:
    case Elem::u64:
    case Elem::f64:
      return 8;
    default:
      return 0;
  }
}

constexpr std::string_view to_string(Elem e) noexcept {
  constexpr std::string_view names[] = {"none", "bool", "i8",  "i16",  "i32", "i64", "u8",   "u16",
                                        "u32",  "u64",  "f16", "bf16", "f32", "f64", "index"};
  return names[static_cast<std::size_t>(e)];
}

/// Element and lanes; lanes is 0 for "no value", 1 for a scalar.
struct ElemType {
  Elem elem = Elem::none;
  std::uint8_t lanes = 0;
  friend constexpr bool operator==(ElemType, ElemType) = default;
};

namespace detail {

template <class T>
inline constexpr Elem elem_v = Elem::none;
template <>
inline constexpr Elem elem_v<bool> = Elem::boolean;
template <>
inline constexpr Elem elem_v<i8> = Elem::i8;
template <>
inline constexpr Elem elem_v<i16> = Elem::i16;
template <>
inline constexpr Elem elem_v<i32> = Elem::i32;
template <>
inline constexpr Elem elem_v<i64> = Elem::i64;
template <>
inline constexpr Elem elem_v<u8> = Elem::u8;
template <>
inline constexpr Elem elem_v<u16> = Elem::u16;
template <>
inline constexpr Elem elem_v<u32> = Elem::u32;
template <>
inline constexpr Elem elem_v<u64> = Elem::u64;
template <>
inline constexpr Elem elem_v<f16> = Elem::f16;
template <>
inline constexpr Elem elem_v<bf16> = Elem::bf16;
template <>
inline constexpr Elem elem_v<f32> = Elem::f32;
template <>
inline constexpr Elem elem_v<f64> = Elem::f64;
template <>
inline constexpr Elem elem_v<Index> = Elem::index;

template <class T>
struct VecTraits {
  using Scalar = T;
  static constexpr std::uint8_t lanes = 1;
};
template <class T, int N>
struct VecTraits<Vec<T, N>> {
  using Scalar = T;
  static constexpr std::uint8_t lanes = N;
};

template <class T>
inline constexpr ElemType elem_type_v{elem_v<typename VecTraits<T>::Scalar>, VecTraits<T>::lanes};

}  // namespace detail

}  // namespace tessera::inline v0
