// EXPECT: && is not defined for this element type
// SPDX-License-Identifier: MIT OR Apache-2.0
// Logic on numbers.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(In<u32> x, Out<u32> y) {
  $if(x[0] && x[1]) {
    y[0] = 1;
  }
}
