// EXPECT: device value cannot steer host control flow
// SPDX-License-Identifier: MIT OR Apache-2.0
// A host conditional operator on a device value.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(In<f32> x, Out<f32> y) {
  y[0] = x[0] > 0.f ? 1.f : 2.f;
}
