// EXPECT: different element types; insert cast<T>
// SPDX-License-Identifier: MIT OR Apache-2.0
// i32 does not widen to Index.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(In<i32> x, Out<u32> y) {
  y[x[0] + unit_pos] = 1;
}
