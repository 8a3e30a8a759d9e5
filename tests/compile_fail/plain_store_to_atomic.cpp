// EXPECT: an atomic element is written by
// SPDX-License-Identifier: MIT OR Apache-2.0
// A plain store to an atomic element.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(InOut<Atomic<u32>> x) {
  x[0] = 1u;
}
