// SPDX-License-Identifier: MIT OR Apache-2.0
// Three extents, x fastest.
#pragma once

#include <cstdint>

namespace tessera::inline v0 {

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  friend constexpr bool operator==(Dim3, Dim3) = default;
};

}  // namespace tessera::inline v0
