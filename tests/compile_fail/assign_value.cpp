// EXPECT: deleted
// SPDX-License-Identifier: MIT OR Apache-2.0
// A value does not change.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(In<f32> x) {
  auto v = x[0];
  v = x[1];
}
