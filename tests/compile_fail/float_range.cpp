// EXPECT: bounds of range\(\) are integers
// SPDX-License-Identifier: MIT OR Apache-2.0
// A loop over floats.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(In<f32> x, Out<f32> y) {
  for (auto i : range(x[0], x[1])) y[0] = i;
}
