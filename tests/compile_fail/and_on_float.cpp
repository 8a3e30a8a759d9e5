// EXPECT: & is not defined for this element type
// SPDX-License-Identifier: MIT OR Apache-2.0
// A bit operation on floats.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(In<f32> x, Out<f32> y) {
  y[0] = x[0] & x[1];
}
