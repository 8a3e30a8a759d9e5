// EXPECT: function_of|no type named|wrong type argument|invalid argument type|could not convert
// SPDX-License-Identifier: MIT OR Apache-2.0
// A kernel lambda that captures.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void use(float factor) {
  auto kernel = [factor](In<f32> x, Out<f32> y) { y[0] = x[0] * factor; };
  using Function = detail::function_of<decltype(kernel)>;
  (void)detail::Signature<Function>::params;
}
