// EXPECT: exp\(\) is not defined for this element type
// SPDX-License-Identifier: MIT OR Apache-2.0
// A float function of an integer.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(In<u32> x, Out<u32> y) {
  y[0] = exp(x[0]);
}
