// SPDX-License-Identifier: MIT OR Apache-2.0
// Grids larger than the device's limit per axis.
//
// The kernel sees the grid that was asked for; the device gets one of as many cubes, or a few
// more, in rows that it accepts. A folded kernel computes its virtual position from its linear one
// and does nothing beyond the last.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace tessera::server {

using Cubes = std::array<std::uint32_t, 3>;

inline bool needs_folding(const Cubes& cubes, const Cubes& limit) {
  return cubes[0] > limit[0] || cubes[1] > limit[1] || cubes[2] > limit[2];
}

/// Number of cubes, or nothing where it does not fit 32 bits, the most that a folded kernel counts.
inline std::optional<std::uint32_t> cube_total(const Cubes& cubes) {
  const std::uint64_t plane = std::uint64_t{cubes[0]} * cubes[1];
  if (plane > 0xffffffffu) return cubes[2] == 0 ? std::optional<std::uint32_t>(0) : std::nullopt;
  const std::uint64_t total = plane * cubes[2];
  if (total > 0xffffffffu) return std::nullopt;
  return static_cast<std::uint32_t>(total);
}

/// The physical grid: no more than one row or layer larger than needed. `cubes` has a total.
inline Cubes folded_grid(const Cubes& cubes, const Cubes& limit) {
  const std::uint64_t total = *cube_total(cubes);
  const std::uint64_t x = std::min<std::uint64_t>(total, limit[0]);
  const std::uint64_t rows = (total + x - 1) / x;
  const std::uint64_t y = std::min<std::uint64_t>(rows, limit[1]);
  const std::uint64_t z = (rows + y - 1) / y;
  return {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y),
          static_cast<std::uint32_t>(z)};
}

}  // namespace tessera::server
