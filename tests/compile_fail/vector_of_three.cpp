// EXPECT: a vector has 2 or 4 lanes
// SPDX-License-Identifier: MIT OR Apache-2.0
// A vector of three lanes, as soon as one is made.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(Out<f32> y) {
  auto v = make_vec<f32>(1.f, 2.f, 3.f);
  y[0] = v.lane(0);
}
inline constexpr std::size_t size = sizeof(Vec<f32, 3>);
