// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tools/mosaic/device_run.hpp"

#include <utility>

#include "tessera/launch.hpp"
#include "tools/mosaic/kernels.hpp"

namespace tessera::mosaic {
namespace {

constexpr std::uint32_t side = 16;

Grid over(const Plan& p) {
  return Grid({(p.width + side - 1) / side, (p.height + side - 1) / side, 1}, {side, side, 1});
}

}  // namespace

Result<Picture> run_device(const Device& device, const Picture& input, const Plan& p, bool broken) {
  const Shape shape{p.height, p.width};
  const std::uint64_t stones = p.stones();
  const Grid grid = over(p);

  const Tensor<u32> picture = device.tensor<u32>(shape, std::span<const u32>(input.pixels));
  const Tensor<u32> edge = device.tensor<u32>(shape);
  const Buffer<u32> seed = device.alloc<u32>(stones);
  picture.buffer().label("picture");
  edge.buffer().label("edges");
  seed.label("seeds");
  launch<edges>(device, grid, picture, edge);
  launch<seeds>(device, Grid::over(stones), edge, seed, p.columns, p.cell);

  Tensor<u32> id = device.tensor<u32>(shape), next = device.tensor<u32>(shape);
  id.buffer().label("stone of each pixel");
  next.buffer().label("stone of each pixel, next");
  const auto find_regions = [&] {
    id.buffer().fill(no_stone);
    launch<place>(device, Grid::over(stones), seed, id.buffer(), p.width);
    for (std::uint32_t step = p.first_jump; step > 0; step /= 2) {
      launch<jump>(device, grid, id, next, seed, step, p.columns, p.cell, !broken);
      std::swap(id, next);
    }
  };
  for (std::uint32_t step = 0; step < p.relax_steps; ++step) {
    find_regions();
    const Buffer<u32> weight = device.zeros<u32>(stones);
    const Buffer<i32> dx = device.zeros<i32>(stones), dy = device.zeros<i32>(stones);
    launch<gather>(device, grid, id, edge, seed, weight, dx, dy);
    launch<relax>(device, Grid::over(stones), seed, weight, dx, dy, p.columns, p.cell, p.width,
                  p.height);
  }
  find_regions();
  const Buffer<u32> sum = device.zeros<u32>(4 * stones);
  launch<colour>(device, grid, picture, id, sum);
  const Tensor<u32> out = device.tensor<u32>(shape);
  out.buffer().label("mosaic");
  launch<shade>(device, grid, id, seed, sum, out, p.cell, Relief{grout_of(p), bevel_of(p)});
  Result<std::vector<u32>> result = out.to_vector();
  if (!result) return result.error();
  return Picture{p.width, p.height, *std::move(result)};
}

}  // namespace tessera::mosaic
