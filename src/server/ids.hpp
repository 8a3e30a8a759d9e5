// SPDX-License-Identifier: MIT OR Apache-2.0
// The names by which commands refer to things: plain numbers, meaningful to any process.
#pragma once

#include <cstdint>

namespace tessera::server {

/// An allocation, from the client's request to the release of its last handle. The slot is reused
/// with another generation, so that a stale name never reaches another allocation.
struct AllocationId {
  std::uint32_t slot = ~std::uint32_t{0};
  std::uint32_t generation = 0;
  friend constexpr bool operator==(AllocationId, AllocationId) = default;
};

using StreamId = std::uint64_t;   // 0 is the device's default stream
using KernelRef = std::uint32_t;  // a registered kernel
using PendingId = std::uint32_t;  // a read or sync that somebody waits for
using StagingId = std::uint32_t;  // host bytes that the device will read
using ErrorId = std::uint32_t;    // a failure found before the command was formed

}  // namespace tessera::server
