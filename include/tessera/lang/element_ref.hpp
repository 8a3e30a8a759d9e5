// SPDX-License-Identifier: MIT OR Apache-2.0
// What a[i] is: an element of memory, to be read, assigned or changed atomically.
#pragma once

#include <array>

#include "tessera/lang/index_arg.hpp"
#include "tessera/lang/math.hpp"

namespace tessera::inline v0 {

/// As the element of a buffer or shared block: reached by atomic operations alone. i32 or u32.
template <class T>
struct Atomic {
  static_assert(std::is_same_v<T, i32> || std::is_same_v<T, u32>,
                "tessera: atomics are on i32 and u32");
};

namespace detail {

/// Coordinates of one element: as many as the memory has axes.
struct Place {
  MemoryRef memory;
  std::array<ValueRef, 8> at{};
  int rank = 1;
  SourceLoc where;

  ValueRef emit_with(Opcode code, ElemType type, std::initializer_list<ValueRef> values) const {
    std::array<ValueRef, 11> operands{};
    std::size_t n = 0;
    for (int i = 0; i < rank; ++i) operands[n++] = at[static_cast<std::size_t>(i)];
    for (const ValueRef v : values) operands[n++] = v;
    return emit(code, type, std::span<const ValueRef>(operands.data(), n), pack(memory), where);
  }
};

inline Place place(MemoryRef memory, const IndexArg& i) {
  Place p;
  p.memory = memory;
  p.at[0] = i.ref;
  p.where = i.where;
  return p;
}

template <class T>
Expr<T> load(const Place& place) {
  return Expr<T>(place.emit_with(Opcode::load, elem_type_v<T>, {}));
}
template <class T, class V>
Expr<T> load_or(const Place& place, const V& value) {
  const ValueRef other = to_value<T>(value, place.where);
  return Expr<T>(place.emit_with(Opcode::load_or, elem_type_v<T>, {other}));
}

/// An element that can be read and written: loaded where it is named, so that `auto old = a[i]` is
/// a snapshot; assigned only as `a[i] = v`, never through a kept name.
template <class T>
class Ref {
 public:
  using DeviceElement = T;
  explicit Ref(const Place& place) : place_(place), value_(load<T>(place).value_ref()) {}
  Ref(const Ref&) = default;

  template <Operand X>
  void operator=(const X& x) && {
    place_.emit_with(Opcode::store, {}, {to_value<T>(x, place_.where)});
  }
  void operator=(const Ref& other) && { std::move(*this).assign(other.value_); }
#define TESSERA_COMPOUND(op)          \
  template <Operand X>                \
  void operator op##=(const X& x)&& { \
    std::move(*this) = *this op x;    \
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
    static_assert(always_false<X>,
                  "tessera: a device value cannot steer host control flow; use $if, $while or "
                  "select");
    return false;
  }
  Expr<scalar_of<T>> lane(int i, SourceLoc where = SourceLoc::current()) const {
    return Expr<T>(value_).lane(i, where);
  }
  ValueRef value_ref() const noexcept { return value_; }

 private:
  void assign(ValueRef value) && { place_.emit_with(Opcode::store, {}, {value}); }
  Place place_;
  ValueRef value_;
};

/// An element that can only be assigned.
template <class T>
class OutRef {
 public:
  using DeviceElement = T;
  explicit OutRef(const Place& place) : place_(place) {}
  OutRef(const OutRef&) = default;
  template <Operand X>
  void operator=(const X& x) && {
    place_.emit_with(Opcode::store, {}, {to_value<T>(x, place_.where)});
  }
  void operator=(const OutRef&) = delete;
  template <class X = T>
  ValueRef value_ref() const {
    static_assert(always_false<X>, "tessera: an Out buffer cannot be read; declare it InOut");
    return {};
  }

 private:
  Place place_;
};

/// An element that only atomic operations reach. All but load and store give the old value. Relaxed
/// order: other memory is ordered by sync_cube() and the end of the launch alone.
template <class T>
class AtomicRef {
 public:
  explicit AtomicRef(const Place& place) : place_(place) {}
  template <class X>
  void operator=(const X&) {
    static_assert(always_false<X>,
                  "tessera: an atomic element is written by store(), exchange() or fetch_…()");
  }

  Expr<T> load() const { return Expr<T>(place_.emit_with(Opcode::atomic_load, type, {})); }
  template <Operand X>
  void store(const X& x) const {
    place_.emit_with(Opcode::atomic_store, {}, {to_value<T>(x, place_.where)});
  }
#define TESSERA_ATOMIC(name, code)                                                        \
  template <Operand X>                                                                    \
  Expr<T> name(const X& x) const {                                                        \
    return Expr<T>(place_.emit_with(Opcode::code, type, {to_value<T>(x, place_.where)})); \
  }
  TESSERA_ATOMIC(exchange, atomic_exchange)
  TESSERA_ATOMIC(fetch_add, atomic_add)
  TESSERA_ATOMIC(fetch_sub, atomic_sub)
  TESSERA_ATOMIC(fetch_min, atomic_min)
  TESSERA_ATOMIC(fetch_max, atomic_max)
  TESSERA_ATOMIC(fetch_and, atomic_and)
  TESSERA_ATOMIC(fetch_or, atomic_or)
  TESSERA_ATOMIC(fetch_xor, atomic_xor)
#undef TESSERA_ATOMIC
  /// Stores `desired` where the element equals `expected`; never fails for no reason.
  template <Operand E, Operand D>
  Expr<T> compare_exchange(const E& expected, const D& desired) const {
    const ValueRef e = to_value<T>(expected, place_.where);
    const ValueRef d = to_value<T>(desired, place_.where);
    return Expr<T>(place_.emit_with(Opcode::atomic_cas, type, {e, d}));
  }

 private:
  static constexpr ElemType type = elem_type_v<T>;
  Place place_;
};

}  // namespace detail
}  // namespace tessera::inline v0
