// EXPECT: an Out buffer cannot be read
// SPDX-License-Identifier: MIT OR Apache-2.0
// A load from a buffer that is written.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(In<f32> x, Out<f32> y) {
  y[0] = y[1] + x[0];
}
