// EXPECT: (compiles)
// SPDX-License-Identifier: MIT OR Apache-2.0
// The control: correct code near every mistake of this folder, so that none fails for the setting.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(In<f32> x, InOut<u32> n, InOut<Atomic<u32>> a, TensorIn<f32> t, Out<f32> y,
            Scalar<f32> s, Const<std::uint32_t> c) {
  Var<f32> v = x[0] + cast<f32>(n[0]);
  $if(v > 0.f && x.len() > c) {
    y[unit_pos] = select(v > s, t(0, 1), exp(v));
  }
  $else {
    y[unit_pos] = 2;
  }
  $while(v < 3.f) {
    v += 1;
  }
  for (auto i : range(n[0], x.len(), 2)) n[i] += 1;
  a[0].fetch_add(1);
  check(n[0] < 10, "message");
}
inline constexpr auto params = detail::Signature<decltype(&kernel)>::params;

void lambda() {
  auto kernel = [](In<f32> from, Out<f32> to) { to[0] = from[0]; };
  using Function = detail::function_of<decltype(kernel)>;
  (void)detail::Signature<Function>::params;
}
