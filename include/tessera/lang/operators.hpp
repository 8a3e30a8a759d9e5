// SPDX-License-Identifier: MIT OR Apache-2.0
// Operators of the language. Operands meet in one element type: the same, u32 with Index (done at
// index width), a scalar with its vector; a host number takes the other side's type.
#pragma once

#include "tessera/lang/expr.hpp"

namespace tessera::inline v0 {

namespace detail {

/// bool, or one bool a lane.
template <class T>
struct BoolOf {
  using type = bool;
};
template <class T, int N>
struct BoolOf<Vec<T, N>> {
  using type = Vec<bool, N>;
};

/// Zero of any element's scalar, as a host number.
template <class T>
constexpr auto scalar_zero() {
  if constexpr (is_bool_v<T>) {
    return false;
  } else {
    return 0;
  }
}

enum class Domain { any, number, integer, bits, boolean, floating };

template <Domain D, class T>
constexpr bool in_domain() {
  if constexpr (D == Domain::any) return true;
  if constexpr (D == Domain::number) return !is_bool_v<T>;
  if constexpr (D == Domain::integer) return is_int_v<T>;
  if constexpr (D == Domain::bits) return is_int_v<T> || is_bool_v<T>;
  if constexpr (D == Domain::boolean) return is_bool_v<T>;
  if constexpr (D == Domain::floating) return is_float_v<T>;
  return false;
}

template <class R, class T, class A, class B>
Expr<R> emit_binary(Opcode code, const A& a, const B& b) {
  // In this order on every compiler: the trace must not depend on the host's choice.
  const ValueRef left = to_value<T>(a);
  const ValueRef right = to_value<T>(b);
  return Expr<R>(emit(code, elem_type_v<R>, {left, right}, 0, {}));
}

}  // namespace detail

#define TESSERA_BINARY(op, code, domain, result)                                                  \
  template <class A, class B>                                                                     \
    requires detail::DevicePair<A, B>                                                             \
  auto operator op(const A& a, const B& b) {                                                      \
    using T = detail::common_of<A, B>;                                                            \
    static_assert(!std::is_void_v<T>, "tessera: different element types; insert cast<T>(value)"); \
    if constexpr (!std::is_void_v<T>) {                                                           \
      static_assert(detail::in_domain<detail::Domain::domain, T>(),                               \
                    "tessera: " #op " is not defined for this element type");                     \
      return detail::emit_binary<result, T>(detail::Opcode::code, a, b);                          \
    }                                                                                             \
  }

TESSERA_BINARY(+, add, number, T)
TESSERA_BINARY(-, sub, number, T)
TESSERA_BINARY(*, mul, number, T)
TESSERA_BINARY(/, div, number, T)
TESSERA_BINARY(%, rem, number, T)
TESSERA_BINARY(&, bit_and, bits, T)
TESSERA_BINARY(|, bit_or, bits, T)
TESSERA_BINARY(^, bit_xor, bits, T)
TESSERA_BINARY(<<, shl, integer, T)
TESSERA_BINARY(>>, shr, integer, T)
TESSERA_BINARY(&&, bit_and, boolean, T)  // eager: both sides are computed
TESSERA_BINARY(||, bit_or, boolean, T)
TESSERA_BINARY(==, eq, any, typename detail::BoolOf<T>::type)
TESSERA_BINARY(!=, ne, any, typename detail::BoolOf<T>::type)
TESSERA_BINARY(<, lt, number, typename detail::BoolOf<T>::type)
TESSERA_BINARY(<=, le, number, typename detail::BoolOf<T>::type)
TESSERA_BINARY(>, gt, number, typename detail::BoolOf<T>::type)
TESSERA_BINARY(>=, ge, number, typename detail::BoolOf<T>::type)
#undef TESSERA_BINARY

#define TESSERA_UNARY(op, code, domain)                                                      \
  template <detail::Device A>                                                                \
  auto operator op(const A& a) {                                                             \
    using T = detail::element_of<A>;                                                         \
    static_assert(detail::in_domain<detail::Domain::domain, T>(),                            \
                  "tessera: unary " #op " is not defined for this element type");            \
    return Expr<T>(                                                                          \
        detail::emit(detail::Opcode::code, detail::elem_type_v<T>, {a.value_ref()}, 0, {})); \
  }

TESSERA_UNARY(-, neg, number)
TESSERA_UNARY(~, bit_not, integer)
TESSERA_UNARY(!, bit_not, boolean)
#undef TESSERA_UNARY

}  // namespace tessera::inline v0
