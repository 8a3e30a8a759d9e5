// EXPECT: discards qualifiers|no viable overloaded|no match for
// SPDX-License-Identifier: MIT OR Apache-2.0
// Assigning to a kept reference.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(InOut<f32> a) {
  auto r = a[0];
  r = 1.f;
}
