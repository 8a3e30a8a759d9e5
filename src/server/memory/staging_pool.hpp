// SPDX-License-Identifier: MIT OR Apache-2.0
// Host bytes on their way to the device, held until the device has read them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "server/ids.hpp"

namespace tessera::server {

/// One pool per device; every member is thread-safe. A lease is made by the thread that uploads
/// and ends when the server sees the upload's ticket completed.
class StagingPool {
 public:
  static constexpr std::size_t copy_limit = 64 * 1024;  // larger uploads move an owner instead

  struct Lease {
    StagingId id;
    std::span<std::byte> bytes;
  };
  /// Room for `bytes` bytes, which the caller fills.
  Lease acquire(std::size_t bytes);
  /// Bytes that are already in memory of their own.
  StagingId adopt(base::Bytes bytes);
  std::span<const std::byte> view(StagingId id) const;
  void release(StagingId id);

  /// Bytes of all leases; submitting threads hold back while there are too many.
  std::uint64_t outstanding() const noexcept {
    return outstanding_.load(std::memory_order_relaxed);
  }

 private:
  struct Record {
    std::span<const std::byte> bytes;
    std::unique_ptr<std::byte[]> block;  // kept for the next lease of its class
    base::Bytes owned;
    int size_class = -1;  // -1: adopted or over-sized
  };
  StagingId take_record(int size_class);

  mutable std::mutex mutex_;
  std::deque<Record> records_;
  static constexpr int classes = 6;  // 64 B, 256 B, 1 KiB, 4 KiB, 16 KiB, 64 KiB
  std::array<std::vector<StagingId>, classes> free_;
  std::vector<StagingId> free_records_;
  std::atomic<std::uint64_t> outstanding_{0};
};

}  // namespace tessera::server
