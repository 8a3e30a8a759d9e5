// EXPECT: use Scalar<T> for a number
// SPDX-License-Identifier: MIT OR Apache-2.0
// A bare number as a parameter.
#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/lang/signature.hpp"

using namespace tessera;

void kernel(In<f32>, float) {}
inline constexpr auto params = detail::Signature<decltype(&kernel)>::params;
