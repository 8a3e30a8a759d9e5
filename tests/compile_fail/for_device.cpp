// EXPECT: device value cannot steer host control flow
// SPDX-License-Identifier: MIT OR Apache-2.0
// A host for whose condition is a device value.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(In<f32> x, Out<f32> y) {
  for (Var<u32> i; i < x.len(); i += 1) y[i] = 1;
}
