// SPDX-License-Identifier: MIT OR Apache-2.0
// The bounded queue of commands between clients and a device's executor.
//
// Cells of 64 bytes; a command takes as many as it needs, in one piece, and one larger than 1 KiB
// is put into a block of its own of which the ring carries the address. Many threads push (one at
// a time, under a lock held for one copy), one pops without a lock. The position of a command is
// the number of commands before it; a command that its caller executes itself takes a position
// too, so that "before" means one thing everywhere.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "server/command.hpp"

namespace tessera::server {

class CommandRing {
 public:
  /// `cells` is a power of two of at least 64.
  explicit CommandRing(std::size_t cells);
  ~CommandRing();

  /// Copies the command in. False where there is no room now: the caller waits, with no lock of
  /// ours held, and tries again.
  bool try_push(const CommandHeader& command);
  /// Where the ring is empty: gives the command a position without queueing it. The caller holds
  /// the executor's lock, so nothing is popped meanwhile.
  bool try_claim_position();

  /// The oldest command, or null. Valid until pop(). Consumer only.
  const CommandHeader* front();
  void pop();

  bool empty() const noexcept {
    return head_.load(std::memory_order_acquire) == tail_.load(std::memory_order_seq_cst);
  }
  /// Commands pushed or claimed so far.
  std::uint64_t positions() const noexcept { return positions_.load(std::memory_order_acquire); }
  const std::atomic<std::uint64_t>& position_counter() const noexcept { return positions_; }
  std::size_t cells() const noexcept { return mask_ + 1; }

 private:
  struct alignas(64) Cell {
    std::byte bytes[64];
  };
  bool push_locked(const void* command, std::size_t bytes);

  std::unique_ptr<Cell[]> ring_;
  std::size_t mask_;
  std::uint64_t seen_tail_ = 0;  // consumer only
  std::mutex producers_;
  std::uint64_t seen_head_ = 0;  // under producers_
  alignas(64) std::atomic<std::uint64_t> positions_{0};
  alignas(64) std::atomic<std::uint64_t> head_{0};  // next cell to pop
  alignas(64) std::atomic<std::uint64_t> tail_{0};  // next cell to fill
};

}  // namespace tessera::server
