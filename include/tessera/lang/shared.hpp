// SPDX-License-Identifier: MIT OR Apache-2.0
// Memory of a cube, and the barrier that orders it.
#pragma once

#include "tessera/lang/element_ref.hpp"

namespace tessera::inline v0 {

namespace detail {

class SharedBase {
 public:
  std::uint64_t size() const noexcept { return count_; }

 protected:
  SharedBase(ElemType type, std::uint64_t rows, std::uint64_t columns, bool atomic, SourceLoc where)
      : memory_(declare_shared(type, rows * columns, atomic, where)),
        count_(rows * columns),
        columns_(columns) {}
  Place at(const IndexArg& i) const { return place(memory_, i); }
  // Both coordinates are checked together, as the element that they name.
  Place at(const IndexArg& row, const IndexArg& column) const {
    IndexArg i = row;
    i.ref = (Expr<Index>(row.ref) * columns_ + Expr<Index>(column.ref)).value_ref();
    return place(memory_, i);
  }
  MemoryRef memory_;
  std::uint64_t count_, columns_;
};

}  // namespace detail

/// Elements shared by the units of a cube; uninitialised. Sizes are numbers of the host, known
/// while tracing. Ordered by sync_cube() alone.
template <class T>
class Shared : public detail::SharedBase {
 public:
  explicit Shared(std::uint64_t count, SourceLoc where = SourceLoc::current())
      : SharedBase(detail::elem_type_v<T>, count, 1, false, where) {}
  Shared(std::uint64_t rows, std::uint64_t columns, SourceLoc where = SourceLoc::current())
      : SharedBase(detail::elem_type_v<T>, rows, columns, false, where) {}
  detail::Ref<T> operator[](const detail::IndexArg& i) const { return detail::Ref<T>(at(i)); }
  detail::Ref<T> operator()(const detail::IndexArg& row, const detail::IndexArg& column) const {
    return detail::Ref<T>(at(row, column));
  }
  detail::Place place_of(const detail::IndexArg& i) const { return at(i); }
};

template <class T>
class Shared<Atomic<T>> : public detail::SharedBase {
 public:
  explicit Shared(std::uint64_t count, SourceLoc where = SourceLoc::current())
      : SharedBase(detail::elem_type_v<T>, count, 1, true, where) {}
  detail::AtomicRef<T> operator[](const detail::IndexArg& i) const {
    return detail::AtomicRef<T>(at(i));
  }
};

/// All units of the cube arrive before any goes on; what they wrote before, to shared memory and
/// to buffers, is then visible to the cube. Must be reached by all units: in flow that depends on
/// anything but scalars, shapes, lengths, cube_pos and uniform_load() it is a compile error.
inline void sync_cube(SourceLoc where = SourceLoc::current()) {
  detail::emit(detail::Opcode::sync_cube, {}, {}, 0, where);
}

/// sync_cube(), then the element, as a value that is the same in all units and may steer barriers.
/// The index is uniform too.
template <class T>
Expr<T> uniform_load(const Shared<T>& shared, const detail::IndexArg& i) {
  return Expr<T>(
      shared.place_of(i).emit_with(detail::Opcode::uniform_load, detail::elem_type_v<T>, {}));
}

/// A condition that must hold: where it is false the launch faults, its outputs fail with `message`
/// and this line.
template <detail::Device C>
void check(const C& condition, std::string_view message = "",
           SourceLoc where = SourceLoc::current()) {
  static_assert(std::is_same_v<detail::element_of<C>, bool>,
                "tessera: the condition of check() is a bool");
  detail::emit_check(condition.value_ref(), message, where);
}

}  // namespace tessera::inline v0
