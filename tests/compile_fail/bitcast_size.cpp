// EXPECT: bitcast\(\) keeps the size
// SPDX-License-Identifier: MIT OR Apache-2.0
// A bitcast to another size.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(In<f32> x, Out<f64> y) {
  y[0] = bitcast<f64>(x[0]);
}
