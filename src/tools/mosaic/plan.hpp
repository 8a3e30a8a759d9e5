// SPDX-License-Identifier: MIT OR Apache-2.0
// The mosaic as a computation: sizes, bounds and constants that control and kernels share.
//
// Everything is whole numbers, so that every device must give the same picture, bit for bit.
//
//   edges    Sobel on luma, 0 … 255
//   seeds    one stone per square of a grid, at the best of eight places drawn by Philox: the one
//   on
//            the strongest edge
//   regions  jump flooding: each pixel takes the nearest seed, ties by number
//   relax    Lloyd: seeds move to the weighted mean of their pixels, but never leave their square
//   colour   mean colour of each stone
//   shade    grout between stones, light from the upper left, a tint per stone
//
// Bounds. A square's side `cell` is at most 256. A pixel's own square holds a seed within
// cell * sqrt(2), and jump flooding always considers that one, so a pixel lies within 1.5 * cell of
// its seed on each axis and a stone has at most 9 * cell^2 pixels. With weights up to 8 the sums of
// offsets stay below 9 * cell^2 * 8 * 1.5 * cell < 1.82e9 < 2^31, those of colours below
// 9 * cell^2 * 255 < 1.51e8. Sides are at most 16384, so squared distances stay below 2^30.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tessera::mosaic {

/// Red in the low byte, then green and blue.
struct Picture {
  std::uint32_t width = 0, height = 0;
  std::vector<std::uint32_t> pixels;
};

struct Plan {
  std::uint32_t width = 1, height = 1;
  std::uint32_t cell = 16;  // side of a grid square
  std::uint32_t columns = 1, rows = 1;
  std::uint32_t relax_steps = 4;
  std::uint32_t first_jump = 1;
  std::uint32_t stones() const { return columns * rows; }
};

inline constexpr std::uint32_t candidates = 8;
inline constexpr std::uint32_t key_seed = 0x7e55e8a1u, key_tint = 0x57a11e57u;
inline constexpr std::uint32_t no_stone = 0xffffffffu;

inline Plan make_plan(std::uint32_t width, std::uint32_t height, std::uint32_t stones,
                      std::uint32_t relax_steps) {
  Plan p;
  p.width = width;
  p.height = height;
  p.relax_steps = relax_steps;
  const double side = std::sqrt(double(width) * height / std::max(stones, 1u));
  p.cell = static_cast<std::uint32_t>(std::clamp(side, 4.0, 256.0));
  p.columns = (width + p.cell - 1) / p.cell;
  p.rows = (height + p.cell - 1) / p.cell;
  // No pixel looks further than its stone can reach.
  while (p.first_jump < p.cell * 2 && p.first_jump * 2 < std::max(width, height)) p.first_jump *= 2;
  return p;
}

/// Half the grout's width and the bevel's, in pixels.
inline std::uint32_t grout_of(const Plan& p) {
  return std::max(1u, p.cell / 14);
}
inline std::uint32_t bevel_of(const Plan& p) {
  return std::max(1u, p.cell / 7);
}

}  // namespace tessera::mosaic
