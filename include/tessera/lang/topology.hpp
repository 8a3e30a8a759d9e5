// SPDX-License-Identifier: MIT OR Apache-2.0
// Where a unit is. A unit is a thread or invocation, a cube a thread block or workgroup.
#pragma once

#include "tessera/lang/expr.hpp"

namespace tessera::inline v0 {

namespace detail {

template <Builtin B>
class BuiltinValue {
 public:
  using DeviceElement = Index;
  ValueRef value_ref() const {
    return emit(Opcode::builtin, elem_type_v<Index>, {}, static_cast<std::uint64_t>(B), {});
  }
};

/// Linear as it stands (x fastest), and by axis.
template <Builtin X, Builtin Y, Builtin Z, Builtin Linear>
class Position : public BuiltinValue<Linear> {
 public:
  BuiltinValue<X> x;
  BuiltinValue<Y> y;
  BuiltinValue<Z> z;
};

}  // namespace detail

/// The unit in its cube.
inline constexpr detail::Position<detail::Builtin::unit_pos_x, detail::Builtin::unit_pos_y,
                                  detail::Builtin::unit_pos_z, detail::Builtin::unit_pos>
    unit_pos{};
/// The cube in the grid.
inline constexpr detail::Position<detail::Builtin::cube_pos_x, detail::Builtin::cube_pos_y,
                                  detail::Builtin::cube_pos_z, detail::Builtin::cube_pos>
    cube_pos{};
/// Units of a cube.
inline constexpr detail::Position<detail::Builtin::cube_dim_x, detail::Builtin::cube_dim_y,
                                  detail::Builtin::cube_dim_z, detail::Builtin::cube_dim>
    cube_dim{};
/// Cubes of the grid, as asked for at the launch.
inline constexpr detail::Position<detail::Builtin::cube_count_x, detail::Builtin::cube_count_y,
                                  detail::Builtin::cube_count_z, detail::Builtin::cube_count>
    cube_count{};
/// The unit in the grid: cube_pos * cube_dim + unit_pos by axis; linear over the grid's extents.
inline constexpr detail::Position<detail::Builtin::absolute_pos_x, detail::Builtin::absolute_pos_y,
                                  detail::Builtin::absolute_pos_z, detail::Builtin::absolute_pos>
    absolute_pos{};

}  // namespace tessera::inline v0
