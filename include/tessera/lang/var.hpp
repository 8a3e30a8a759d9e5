// SPDX-License-Identifier: MIT OR Apache-2.0
// A variable of one unit.
#pragma once

#include "tessera/lang/expr.hpp"
#include "tessera/lang/operators.hpp"

namespace tessera::inline v0 {

/// A mutable local. Reading it gives its value at that point; copying it makes another variable of
/// the same present value. Starts at zero where no value is given.
template <class T>
class Var {
 public:
  using DeviceElement = T;

  Var(SourceLoc where = SourceLoc::current()) : Var(detail::scalar_zero<T>(), where) {}  // NOLINT
  template <detail::Operand X>
  Var(const X& x, SourceLoc where = SourceLoc::current())  // NOLINT: reads as initialisation
      : slot_(detail::emit(detail::Opcode::slot, detail::elem_type_v<T>, {}, 0, where)) {
    store(detail::to_value<T>(x, where), where);
  }
  Var(const Var& other) : Var(other, SourceLoc{}) {}

  Var& operator=(const Var& other) {
    store(other.value_ref(), {});
    return *this;
  }
  template <detail::Operand X>
  Var& operator=(const X& x) {
    store(detail::to_value<T>(x), {});
    return *this;
  }
#define TESSERA_COMPOUND(op)                    \
  template <detail::Operand X>                  \
  Var& operator op##=(const X & x) {            \
    store(detail::to_value<T>(*this op x), {}); \
    return *this;                               \
  }
  TESSERA_COMPOUND(+)
  TESSERA_COMPOUND(-)
  TESSERA_COMPOUND(*)
  TESSERA_COMPOUND(/)
  TESSERA_COMPOUND(%)
  TESSERA_COMPOUND(&)
  TESSERA_COMPOUND(|)
  TESSERA_COMPOUND(^)
  TESSERA_COMPOUND(<<)
  TESSERA_COMPOUND(>>)
#undef TESSERA_COMPOUND

  template <class X = T>
  explicit operator bool() const {
    static_assert(detail::always_false<X>,
                  "tessera: a device value cannot steer host control flow; use $if, $while or "
                  "select");
    return false;
  }

  Expr<detail::scalar_of<T>> lane(int i, SourceLoc where = SourceLoc::current()) const {
    return ex(*this).lane(i, where);
  }
  template <detail::Operand X>
  void set_lane(int i, const X& x, SourceLoc where = SourceLoc::current()) {
    static_assert(detail::lanes_of<T> > 1, "tessera: set_lane() is for vectors");
    if (i < 0 || i >= detail::lanes_of<T>) {
      return detail::trace_error("set_lane() is out of the vector's range", where);
    }
    store(detail::emit(detail::Opcode::insert, detail::elem_type_v<T>,
                       {value_ref(), detail::to_value<detail::scalar_of<T>>(x, where)},
                       static_cast<std::uint64_t>(i), where),
          where);
  }

  detail::ValueRef value_ref() const {
    return detail::emit(detail::Opcode::slot_load, detail::elem_type_v<T>, {slot_}, 0, {});
  }

 private:
  void store(detail::ValueRef value, SourceLoc where) {
    detail::emit(detail::Opcode::slot_store, {}, {slot_, value}, 0, where);
  }
  detail::ValueRef slot_;
};

}  // namespace tessera::inline v0
