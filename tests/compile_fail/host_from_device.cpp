// EXPECT: cannot convert|no viable conversion
// SPDX-License-Identifier: MIT OR Apache-2.0
// A device value as a host number.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(In<f32> x) {
  int s = x[0];
  (void)s;
}
