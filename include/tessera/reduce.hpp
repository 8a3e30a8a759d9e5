// SPDX-License-Identifier: MIT OR Apache-2.0
// One number from many.
#pragma once

#include <algorithm>
#include <limits>

#include "tessera/map.hpp"

namespace tessera::inline v0 {

/// Associative operations with a neutral element.
namespace ops {

struct Sum {
  static constexpr bool of_nothing = true;
  template <class T>
  static constexpr T neutral() {
    return T(0);
  }
  template <class T>
  static Expr<T> combine(const Expr<T>& a, const Expr<T>& b) {
    return a + b;
  }
};
struct Prod {
  static constexpr bool of_nothing = true;
  template <class T>
  static constexpr T neutral() {
    return T(1);
  }
  template <class T>
  static Expr<T> combine(const Expr<T>& a, const Expr<T>& b) {
    return a * b;
  }
};
struct Min {
  static constexpr bool of_nothing = false;
  template <class T>
  static constexpr T neutral() {
    using L = std::numeric_limits<T>;
    return L::has_infinity ? L::infinity() : L::max();
  }
  template <class T>
  static Expr<T> combine(const Expr<T>& a, const Expr<T>& b) {
    return min(a, b);
  }
};
struct Max {
  static constexpr bool of_nothing = false;
  template <class T>
  static constexpr T neutral() {
    using L = std::numeric_limits<T>;
    return L::has_infinity ? -L::infinity() : L::lowest();
  }
  template <class T>
  static Expr<T> combine(const Expr<T>& a, const Expr<T>& b) {
    return max(a, b);
  }
};

inline constexpr Sum sum{};
inline constexpr Prod prod{};
inline constexpr Min min{};
inline constexpr Max max{};

}  // namespace ops

namespace detail {

inline constexpr u32 reduce_units = 128;

/// Each unit runs over the input in strides of the grid, each cube over its units in a tree: the
/// order of the combinations depends on the length alone, so equal inputs give equal bits.
template <class T, class Op>
void reduce_kernel(In<T> x, Out<T> out) {
  Var<T> mine = Expr<T>(Op::template neutral<T>());
  for (auto i : range(absolute_pos, x.len(), cube_count * cube_dim)) {
    mine = Op::combine(ex(mine), x[i]);
  }
  Shared<T> all(reduce_units);
  all[unit_pos] = mine;
  for (u32 stride = reduce_units / 2; stride > 0; stride /= 2) {
    sync_cube();
    TESSERA_IF(unit_pos < stride) {
      all[unit_pos] = Op::combine(ex(all[unit_pos]), ex(all[unit_pos + stride]));
    }
  }
  sync_cube();
  TESSERA_IF(unit_pos == 0) {
    out[cube_pos] = all[0];
  }
}

}  // namespace detail

/// All elements combined, as a buffer of one element. Integers wrap; floats combine in a fixed
/// order that depends on the length alone; NaN propagates. Of nothing: sum 0, product 1, and for
/// min and max the result fails with InvalidArgument. Runs on the default stream.
template <class Op, Element T>
  requires(!std::is_void_v<T> && detail::lanes_of<T> == 1)
Buffer<T> reduce(const Device& device, Op, const Buffer<T>& x) {
  if (x.empty() && !Op::of_nothing && !x.ref().invalid) {
    return detail::refused<T>(
        Error(ErrorKind::InvalidArgument, "There is no least and no greatest of no elements."));
  }
  constexpr u32 most_cubes = 256;
  const std::uint64_t cubes = std::clamp<std::uint64_t>(
      (x.size() + detail::reduce_units - 1) / detail::reduce_units, 1, most_cubes);
  Buffer<T> out = device.alloc<T>(1);
  const Dim3 units{detail::reduce_units, 1, 1};
  if (cubes == 1) {
    launch<detail::reduce_kernel<T, Op>>(device, Grid({1, 1, 1}, units), x, out);
    return out;
  }
  const Buffer<T> partial = device.alloc<T>(cubes);
  launch<detail::reduce_kernel<T, Op>>(
      device, Grid({static_cast<std::uint32_t>(cubes), 1, 1}, units), x, partial);
  launch<detail::reduce_kernel<T, Op>>(device, Grid({1, 1, 1}, units), partial, out);
  return out;
}

}  // namespace tessera::inline v0
