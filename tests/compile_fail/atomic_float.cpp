// EXPECT: atomics are on i32 and u32
// SPDX-License-Identifier: MIT OR Apache-2.0
// An atomic of floats.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(InOut<Atomic<f32>> x) {
  x[0].fetch_add(1.f);
}
using Instance = Atomic<f32>;
inline constexpr Instance instance{};
