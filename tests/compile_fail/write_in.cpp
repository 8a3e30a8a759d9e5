// EXPECT: deleted
// SPDX-License-Identifier: MIT OR Apache-2.0
// A store to a buffer that is read.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(In<f32> x) {
  x[0] = 1.f;
}
