// EXPECT: lane\(\) is for vectors
// SPDX-License-Identifier: MIT OR Apache-2.0
// A lane of a scalar.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(In<u32> x, Out<u32> y) {
  y[0] = x[0].lane(0);
}
