// SPDX-License-Identifier: MIT OR Apache-2.0
// For which launches one kernel is compiled.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::ir {

/// What a kernel is compiled for besides its own text. Part of every cache key.
struct Variant {
  // The physical grid holds the virtual cubes in x-major order, several rows deep, and may end
  // with cubes that must do nothing: the kernel finds its virtual position from its linear one.
  bool folded = false;
  // Index is 64 bits wide. Only where the device indexes so.
  bool wide_index = false;
  // Bit per binding declared writable, at least those that the kernel writes.
  std::uint64_t writable = 0;
  // Empty, or per binding the earlier binding whose storage it shares (its own index if none):
  // a sharing binding gets no storage of its own, and its entry in LaunchDesc::bindings equals
  // the earlier one's. Both have the same element type.
  std::vector<std::uint8_t> alias_of;
  friend bool operator==(const Variant&, const Variant&) = default;
};

}  // namespace tessera::ir
