// SPDX-License-Identifier: MIT OR Apache-2.0
// What counts as a value of the device and what as a number of the host, and how operands meet.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tessera/elem.hpp"
#include "tessera/lang/builder.hpp"

namespace tessera::inline v0 {

template <class T>
class Expr;
template <class T>
class Const;

namespace detail {

template <class>
inline constexpr bool always_false = false;

/// Classes of the language name their element and give their value: Expr, Var, references to
/// elements, Scalar, topology.
template <class X>
concept Device = requires { typename std::remove_cvref_t<X>::DeviceElement; };

template <class X>
struct ElementOf {
  using type = typename std::remove_cvref_t<X>::DeviceElement;
};
template <class X>
using element_of = typename ElementOf<X>::type;

template <class X>
struct HostNumber {
  static constexpr bool value =
      std::is_arithmetic_v<X> || std::is_same_v<X, f16> || std::is_same_v<X, bf16>;
};
template <class T>
struct HostNumber<Const<T>> {
  static constexpr bool value = HostNumber<T>::value;
};

/// Numbers of the host: they become constants of the kernel.
template <class X>
concept Host = HostNumber<std::remove_cvref_t<X>>::value;

template <class X>
concept Operand = Device<X> || Host<X>;

/// At least one side is of the device: then an operator is ours.
template <class A, class B>
concept DevicePair = Operand<A> && Operand<B> && (Device<A> || Device<B>);

template <class T>
using scalar_of = typename VecTraits<T>::Scalar;
template <class T>
inline constexpr int lanes_of = VecTraits<T>::lanes;

template <class T>
inline constexpr bool is_float_v = is_float(elem_v<scalar_of<T>>);
template <class T>
inline constexpr bool is_int_v = is_int(elem_v<scalar_of<T>>);
template <class T>
inline constexpr bool is_bool_v = elem_v<scalar_of<T>> == Elem::boolean;

// The element type in which two operands meet: the same one; Index where one is u32; the vector
// where one is its scalar. void: they do not meet.
template <class A, class B>
struct Meet {
  using type = void;
};
template <class T>
struct Meet<T, T> {
  using type = T;
};
template <>
struct Meet<Index, u32> {
  using type = Index;
};
template <>
struct Meet<u32, Index> {
  using type = Index;
};
template <class T, int N>
struct Meet<Vec<T, N>, T> {
  using type = Vec<T, N>;
};
template <class T, int N>
struct Meet<T, Vec<T, N>> {
  using type = Vec<T, N>;
};

template <class A, class B>
struct CommonOf;
template <Device A, Device B>
struct CommonOf<A, B> {
  using type = typename Meet<element_of<A>, element_of<B>>::type;
};
template <Device A, Host B>
struct CommonOf<A, B> {
  using type = element_of<A>;
};
template <Host A, Device B>
struct CommonOf<A, B> {
  using type = element_of<B>;
};
template <class A, class B>
using common_of = typename CommonOf<std::remove_cvref_t<A>, std::remove_cvref_t<B>>::type;

template <class H>
ValueRef host_literal(Elem elem, const H& value, SourceLoc where) {
  if constexpr (std::is_same_v<H, f16> || std::is_same_v<H, bf16>) {
    return literal(elem, static_cast<double>(static_cast<float>(value)), where);
  } else if constexpr (std::is_floating_point_v<H>) {
    return literal(elem, static_cast<double>(value), where);
  } else if constexpr (std::is_same_v<H, bool> || std::is_unsigned_v<H>) {
    return literal(elem, static_cast<std::uint64_t>(value), where);
  } else if constexpr (std::is_integral_v<H>) {
    return literal(elem, static_cast<std::int64_t>(value), where);
  } else {
    return host_literal(elem, value.value(), where);  // Const
  }
}

/// The operand as a value of element type T.
template <class T, class X>
ValueRef to_value(const X& x, SourceLoc where = {}) {
  constexpr ElemType type = elem_type_v<T>;
  if constexpr (Host<X>) {
    const ValueRef scalar = host_literal(type.elem, x, where);
    return type.lanes == 1 ? scalar : emit(Opcode::splat, type, {scalar}, 0, where);
  } else {
    using U = element_of<X>;
    const ValueRef value = x.value_ref();
    if constexpr (std::is_same_v<T, U>) {
      return value;
    } else if constexpr (std::is_same_v<T, Index> && std::is_same_v<U, u32>) {
      return emit(Opcode::cast, type, {value}, 0, where);
    } else if constexpr (std::is_same_v<scalar_of<T>, U>) {
      return emit(Opcode::splat, type, {value}, 0, where);
    } else {
      static_assert(always_false<X>, "tessera: different element types; insert cast<T>(value)");
    }
  }
}

}  // namespace detail
}  // namespace tessera::inline v0
