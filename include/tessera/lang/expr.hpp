// SPDX-License-Identifier: MIT OR Apache-2.0
// A value of a running kernel.
#pragma once

#include "tessera/lang/value.hpp"

namespace tessera::inline v0 {

/// An immutable value of element type T: a number, bool, Index or a Vec of them. Copying names the
/// same value; there is no assignment (see Var). Usable inside the block that made it and the
/// blocks within.
template <class T>
class Expr {
 public:
  using DeviceElement = T;

  explicit Expr(detail::ValueRef ref) noexcept : ref_(ref) {}
  Expr(const Expr&) = default;
  /// From a host number (it must be exact in T), or from what only widens to T: u32 to Index, a
  /// scalar to every lane.
  template <detail::Operand X>
    requires(!std::is_same_v<std::remove_cvref_t<X>, Expr>)
  Expr(const X& x, SourceLoc where = SourceLoc::current())  // NOLINT: literals read as values
      : ref_(detail::to_value<T>(x, where)) {}

  template <class X>
  void operator=(const X&) = delete;  // values do not change: use Var<T>
  void operator=(const Expr&) = delete;

  template <class X = T>
  explicit operator bool() const {
    static_assert(detail::always_false<X>,
                  "tessera: a device value cannot steer host control flow; use $if, $while or "
                  "select");
    return false;
  }

  /// One lane of a vector, by a number known while tracing.
  Expr<detail::scalar_of<T>> lane(int i, SourceLoc where = SourceLoc::current()) const {
    static_assert(detail::lanes_of<T> > 1, "tessera: lane() is for vectors");
    if (i < 0 || i >= detail::lanes_of<T>) {
      detail::trace_error("lane() is out of the vector's range", where);
      i = 0;
    }
    return Expr<detail::scalar_of<T>>(detail::emit(detail::Opcode::extract,
                                                   detail::elem_type_v<detail::scalar_of<T>>,
                                                   {ref_}, static_cast<std::uint64_t>(i), where));
  }

  detail::ValueRef value_ref() const noexcept { return ref_; }

 private:
  detail::ValueRef ref_;
};

/// The value of anything of the language, or of a host number where the type is stated.
template <detail::Device X>
Expr<detail::element_of<X>> ex(const X& x) {
  return Expr<detail::element_of<X>>(x.value_ref());
}

}  // namespace tessera::inline v0
