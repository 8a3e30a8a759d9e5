// SPDX-License-Identifier: MIT OR Apache-2.0
// Parameters that are single numbers: of a launch, or of the compiled kernel.
#pragma once

#include "tessera/lang/expr.hpp"

namespace tessera::inline v0 {

/// A number given at each launch; uniform over the grid. Behaves as Expr<T>.
template <class T>
class Scalar {
 public:
  static_assert(detail::lanes_of<T> == 1 && detail::elem_v<T> != Elem::none,
                "tessera: a Scalar is one number");
  using DeviceElement = T;
  explicit Scalar(std::uint32_t parameter) : parameter_(parameter) {}
  template <class X = T>
  explicit operator bool() const {
    static_assert(detail::always_false<X>,
                  "tessera: a device value cannot steer host control flow; use $if, $while or "
                  "select, or a Const<T> parameter");
    return false;
  }
  detail::ValueRef value_ref() const {
    return detail::emit(detail::Opcode::scalar, detail::elem_type_v<T>, {}, parameter_, {});
  }

 private:
  std::uint32_t parameter_;
};

/// A number compiled into the kernel: an ordinary T of the host while tracing. Every value is a
/// kernel of its own.
template <class T>
class Const {
 public:
  static_assert(std::is_arithmetic_v<T>, "tessera: a Const is a number");
  constexpr Const(T value) noexcept : value_(value) {}      // NOLINT: stands for the number
  constexpr operator T() const noexcept { return value_; }  // NOLINT
  constexpr T value() const noexcept { return value_; }

 private:
  T value_;
};

}  // namespace tessera::inline v0
