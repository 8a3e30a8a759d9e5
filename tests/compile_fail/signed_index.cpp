// EXPECT: insert cast<u32> or
// SPDX-License-Identifier: MIT OR Apache-2.0
// i32 as an index without a cast.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(In<i32> x, Out<i32> y) {
  y[0] = x[x[0]];
}
