// EXPECT: no match for|no viable overloaded|no operator
// SPDX-License-Identifier: MIT OR Apache-2.0
// A compound assignment to a buffer that is written.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(In<f32> x, Out<f32> y) {
  y[0] += x[0];
}
