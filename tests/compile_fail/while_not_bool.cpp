// EXPECT: is a device value but no bool
// SPDX-License-Identifier: MIT OR Apache-2.0
// A $while whose condition is a number.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(In<f32> x, Out<f32> y) {
  $while(x[0]) {
    y[0] = 1;
  }
}
