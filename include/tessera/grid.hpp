// SPDX-License-Identifier: MIT OR Apache-2.0
// How many cubes (thread blocks, workgroups) of how many units (threads, invocations) a launch has.
#pragma once

#include <cstdint>

#include "tessera/buffer.hpp"
#include "tessera/dim3.hpp"

namespace tessera::inline v0 {

/// Units per cube chosen by the library: 256, or what the device allows if that is less.
inline constexpr std::uint32_t automatic = 0;

/// A count known at the launch. Any zero extent: the launch does nothing and succeeds. Counts over
/// the device's limit are folded: the kernel sees the grid that was asked for.
struct Grid {
  Dim3 cubes;
  Dim3 units{automatic, 1, 1};

  /// At least n units in a row: ceil(n / units) cubes in x. Kernels guard with `< len()`.
  static Grid over(std::uint64_t n, std::uint32_t units = automatic) {
    Grid grid;
    grid.units = {units, 1, 1};
    grid.elements_ = n;
    grid.spread_ = true;
    return grid;
  }
  /// The same launch without bounds checks and fault words in the kernel: what it writes where is
  /// then the caller's promise, and the library's first guarantee is void for its outputs.
  Grid unchecked() const {
    Grid grid = *this;
    grid.unchecked_ = true;
    return grid;
  }

  // For the library.
  bool is_unchecked() const noexcept { return unchecked_; }
  bool spreads() const noexcept { return spread_; }
  std::uint64_t elements() const noexcept { return elements_; }

  constexpr Grid() = default;
  constexpr Grid(Dim3 cubes_of_grid, Dim3 units_of_cube = {automatic, 1, 1})
      : cubes(cubes_of_grid), units(units_of_cube) {}

 private:
  std::uint64_t elements_ = 0;
  bool spread_ = false;
  bool unchecked_ = false;
};

/// A count that the device computes: three u32 in `cubes`, read when the launch runs. A count over
/// `at_most` in any extent is a fault of the launch. A zero extent: nothing runs.
struct DynamicGrid {
  Buffer<std::uint32_t> cubes;
  Dim3 units{automatic, 1, 1};
  Dim3 at_most{65535, 65535, 65535};
};

}  // namespace tessera::inline v0
