// SPDX-License-Identifier: MIT OR Apache-2.0
// Functions on values. Corner cases: docs/numerics.md.
#pragma once

#include "tessera/lang/operators.hpp"

namespace tessera::inline v0 {

#define TESSERA_FUNCTION1(name, code, domain, result)                                           \
  template <detail::Device A>                                                                   \
  auto name(const A& a, SourceLoc where = SourceLoc::current()) {                               \
    using T = detail::element_of<A>;                                                            \
    static_assert(detail::in_domain<detail::Domain::domain, T>(),                               \
                  "tessera: " #name "() is not defined for this element type");                 \
    using R = result;                                                                           \
    return Expr<R>(                                                                             \
        detail::emit(detail::Opcode::code, detail::elem_type_v<R>, {a.value_ref()}, 0, where)); \
  }

TESSERA_FUNCTION1(abs, abs, number, T)
TESSERA_FUNCTION1(count_ones, count_ones, integer, T)
TESSERA_FUNCTION1(leading_zeros, leading_zeros, integer, T)    // of 0: the width
TESSERA_FUNCTION1(trailing_zeros, trailing_zeros, integer, T)  // of 0: the width
TESSERA_FUNCTION1(reverse_bits, reverse_bits, integer, T)
TESSERA_FUNCTION1(floor, floor, floating, T)
TESSERA_FUNCTION1(ceil, ceil, floating, T)
TESSERA_FUNCTION1(trunc, trunc, floating, T)
TESSERA_FUNCTION1(round, round, floating, T)  // halves to even
TESSERA_FUNCTION1(sqrt, sqrt, floating, T)
TESSERA_FUNCTION1(inverse_sqrt, inverse_sqrt, floating, T)
TESSERA_FUNCTION1(exp, exp, floating, T)
TESSERA_FUNCTION1(exp2, exp2, floating, T)
TESSERA_FUNCTION1(log, log, floating, T)
TESSERA_FUNCTION1(log2, log2, floating, T)
TESSERA_FUNCTION1(sin, sin, floating, T)
TESSERA_FUNCTION1(cos, cos, floating, T)
TESSERA_FUNCTION1(tanh, tanh, floating, T)
TESSERA_FUNCTION1(is_nan, is_nan, floating, typename detail::BoolOf<T>::type)
TESSERA_FUNCTION1(is_inf, is_inf, floating, typename detail::BoolOf<T>::type)
#undef TESSERA_FUNCTION1

#define TESSERA_FUNCTION2(name, code, domain)                                                     \
  template <class A, class B>                                                                     \
    requires detail::DevicePair<A, B>                                                             \
  auto name(const A& a, const B& b) {                                                             \
    using T = detail::common_of<A, B>;                                                            \
    static_assert(!std::is_void_v<T>, "tessera: different element types; insert cast<T>(value)"); \
    if constexpr (!std::is_void_v<T>) {                                                           \
      static_assert(detail::in_domain<detail::Domain::domain, T>(),                               \
                    "tessera: " #name "() is not defined for this element type");                 \
      return detail::emit_binary<T, T>(detail::Opcode::code, a, b);                               \
    }                                                                                             \
  }

TESSERA_FUNCTION2(min, min, number)  // NaN propagates
TESSERA_FUNCTION2(max, max, number)
TESSERA_FUNCTION2(mod, mod, number)  // floors, where % truncates
TESSERA_FUNCTION2(mul_hi, mul_hi, integer)
TESSERA_FUNCTION2(pow, pow, floating)
#undef TESSERA_FUNCTION2

/// min(max(x, low), high); NaN propagates.
template <detail::Device A, detail::Operand L, detail::Operand H>
auto clamp(const A& x, const L& low, const H& high, SourceLoc where = SourceLoc::current()) {
  using T = detail::element_of<A>;
  static_assert(detail::in_domain<detail::Domain::number, T>(),
                "tessera: clamp() is not defined for this element type");
  const detail::ValueRef l = detail::to_value<T>(low, where);
  const detail::ValueRef h = detail::to_value<T>(high, where);
  return Expr<T>(
      detail::emit(detail::Opcode::clamp, detail::elem_type_v<T>, {x.value_ref(), l, h}, 0, where));
}

/// a * b + c with one rounding.
template <detail::Device A, detail::Operand B, detail::Operand C>
auto fma(const A& a, const B& b, const C& c, SourceLoc where = SourceLoc::current()) {
  using T = detail::element_of<A>;
  static_assert(detail::in_domain<detail::Domain::floating, T>(),
                "tessera: fma() is not defined for this element type");
  const detail::ValueRef vb = detail::to_value<T>(b, where);
  const detail::ValueRef vc = detail::to_value<T>(c, where);
  return Expr<T>(
      detail::emit(detail::Opcode::fma, detail::elem_type_v<T>, {a.value_ref(), vb, vc}, 0, where));
}

/// a where the condition holds, else b; both are computed. Of a load that may be out of range use
/// load_or.
template <detail::Device C, class A, class B>
  requires detail::DevicePair<A, B>
auto select(const C& condition, const A& a, const B& b, SourceLoc where = SourceLoc::current()) {
  using T = detail::common_of<A, B>;
  static_assert(detail::is_bool_v<detail::element_of<C>>,
                "tessera: the condition of select() is a bool");
  static_assert(!std::is_void_v<T>, "tessera: different element types; insert cast<T>(value)");
  if constexpr (!std::is_void_v<T>) {
    const detail::ValueRef va = detail::to_value<T>(a, where);
    const detail::ValueRef vb = detail::to_value<T>(b, where);
    return Expr<T>(detail::emit(detail::Opcode::select, detail::elem_type_v<T>,
                                {condition.value_ref(), va, vb}, 0, where));
  }
}
/// Of two host numbers: the element type is stated.
template <class T, detail::Device C, detail::Operand A, detail::Operand B>
Expr<T> select(const C& condition, const A& a, const B& b, SourceLoc where = SourceLoc::current()) {
  static_assert(detail::is_bool_v<detail::element_of<C>>,
                "tessera: the condition of select() is a bool");
  const detail::ValueRef va = detail::to_value<T>(a, where);
  const detail::ValueRef vb = detail::to_value<T>(b, where);
  return Expr<T>(detail::emit(detail::Opcode::select, detail::elem_type_v<T>,
                              {condition.value_ref(), va, vb}, 0, where));
}

/// Converts the number: floats to integers saturate and NaN gives 0, integers wrap, to bool is
/// "not zero". Of a vector, every lane; T names the scalar or the vector.
template <class T, detail::Device A>
auto cast(const A& a, SourceLoc where = SourceLoc::current()) {
  using From = detail::element_of<A>;
  if constexpr (detail::lanes_of<From> > 1 && detail::lanes_of<T> == 1) {
    return cast<Vec<T, detail::lanes_of<From>>>(a, where);
  } else {
    static_assert(detail::lanes_of<T> == detail::lanes_of<From>,
                  "tessera: cast() keeps the number of lanes");
    if constexpr (std::is_same_v<T, From>) {
      return Expr<T>(a.value_ref());
    } else {
      return Expr<T>(
          detail::emit(detail::Opcode::cast, detail::elem_type_v<T>, {a.value_ref()}, 0, where));
    }
  }
}

/// The same bits as another element type of the same size.
template <class T, detail::Device A>
Expr<T> bitcast(const A& a, SourceLoc where = SourceLoc::current()) {
  using From = detail::element_of<A>;
  static_assert(size_of(detail::elem_v<detail::scalar_of<T>>) ==
                        size_of(detail::elem_v<detail::scalar_of<From>>) &&
                    detail::lanes_of<T> == detail::lanes_of<From>,
                "tessera: bitcast() keeps the size and the number of lanes");
  return Expr<T>(
      detail::emit(detail::Opcode::bitcast, detail::elem_type_v<T>, {a.value_ref()}, 0, where));
}

/// A vector of the given lanes; the element type is that of the first device operand, or stated.
template <class T, detail::Operand... X>
Expr<Vec<T, static_cast<int>(sizeof...(X))>> make_vec(const X&... lanes) {
  using V = Vec<T, static_cast<int>(sizeof...(X))>;
  const detail::ValueRef refs[] = {detail::to_value<T>(lanes)...};
  return Expr<V>(detail::emit(detail::Opcode::compose, detail::elem_type_v<V>,
                              std::span<const detail::ValueRef>(refs), 0, {}));
}

}  // namespace tessera::inline v0
