// SPDX-License-Identifier: MIT OR Apache-2.0
// A user's program: one kernel on the CPU device.
#include <cstdio>
#include <vector>

#include "tessera/device.hpp"
#include "tessera/kernel.hpp"
#include "tessera/launch.hpp"

using namespace tessera;

static void twice(In<f32> x, Out<f32> y) {
  TESSERA_IF(absolute_pos < x.len()) {
    y[absolute_pos] = x[absolute_pos] * 2;
  }
}

int main() {
  const Device device = tessera::open("cpu").value();
  const auto x = device.upload(std::vector<f32>{1, 2, 3});
  const auto y = device.full<f32>(3, -1.0f);
  launch<twice>(device, Grid::over(3), x, y);
  const std::vector<f32> out = y.to_vector().value();
  std::printf("%g %g %g\n", double(out[0]), double(out[1]), double(out[2]));
  return out == std::vector<f32>{2, 4, 6} ? 0 : 1;
}
