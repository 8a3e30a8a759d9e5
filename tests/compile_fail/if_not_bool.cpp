// EXPECT: is a device value but no bool
// SPDX-License-Identifier: MIT OR Apache-2.0
// An $if whose condition is a number.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(In<u32> x, Out<f32> y) {
  $if(x[0]) {
    y[0] = 1;
  }
}
