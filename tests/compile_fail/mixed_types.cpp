// EXPECT: different element types; insert cast<T>
// SPDX-License-Identifier: MIT OR Apache-2.0
// A float and an unsigned integer in one operation.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(In<f32> x, In<u32> n, Out<f32> y) {
  y[0] = x[0] + n[0];
}
