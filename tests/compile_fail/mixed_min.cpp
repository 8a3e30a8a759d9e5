// EXPECT: different element types; insert cast<T>
// SPDX-License-Identifier: MIT OR Apache-2.0
// Two element types in one function.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(In<i32> x, In<u32> n, Out<u32> y) {
  y[0] = min(x[0], n[0]);
}
