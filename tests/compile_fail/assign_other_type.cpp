// EXPECT: different element types; insert cast<T>
// SPDX-License-Identifier: MIT OR Apache-2.0
// A variable assigned a value of another type.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(In<f32> x) {
  Var<u32> v = 0;
  v = x[0];
}
