// EXPECT: condition of check\(\) is a bool
// SPDX-License-Identifier: MIT OR Apache-2.0
// A check of a number.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(In<u32> x) {
  check(x[0], "message");
}
