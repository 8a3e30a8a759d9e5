// SPDX-License-Identifier: MIT OR Apache-2.0
// What the server knows of each allocation, and the ids that clients name them by.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "server/failure/claims.hpp"
#include "server/ids.hpp"
#include "server/memory/block.hpp"

namespace tessera::server {

struct Allocation {
  AllocationId id;
  std::uint64_t bytes = 0;
  Block* block = nullptr;      // null: zero bytes, never allocated, or released (see `released`)
  driver::Region region;       // where the bytes are, also after the block was given back
  std::optional<Claim> never;  // set: there is no memory, because of this
  Claims claims;
  std::uint32_t parked_uses = 0;  // parked commands that name it
  bool guarded = false;           // its red zones are painted
  bool awaiting = false;          // parked until pages that are given up come back
  bool live = false;
  bool released = false;  // the last handle is gone; kept for parked commands alone
};

/// Hands out ids, to clients, who name an allocation before the server makes it.
class AllocationIds {
 public:
  AllocationId next();            // any thread
  void recycle(AllocationId id);  // server only, once it has forgotten the allocation

 private:
  static constexpr std::size_t batch_size = 64;
  std::vector<AllocationId> batch_;  // recycled ids on their way to the free ones
  alignas(64) std::mutex mutex_;
  std::vector<AllocationId> free_;
  std::uint32_t slots_ = 0;
};

/// Labels of buffers, for messages. Thread-safe.
class Labels {
 public:
  void set(AllocationId id, std::string label);
  /// The label in quotes, or "buffer #N".
  std::string name(AllocationId id) const;
  void forget(AllocationId id);

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> labels_;
  std::atomic<bool> any_{false};
};

/// Server only.
class AllocationTable {
 public:
  Allocation& make(AllocationId id, std::uint64_t bytes);
  /// Null for an allocation that is gone.
  Allocation* find(AllocationId id);
  void forget(AllocationId id);
  std::size_t live() const noexcept { return live_; }

  /// The allocation has a failure recorded on it. Kept apart, so that looking through failures
  /// costs nothing for allocations that have none.
  void note_tainted(const Allocation& a) { tainted_.insert(a.id.slot); }
  template <class F>
  void for_each_tainted(F&& f) {
    std::erase_if(tainted_, [&](std::uint32_t slot) {
      const Allocation& a = slots_[slot];
      if (!a.live || (!a.never && a.claims.empty())) return true;
      f(a);
      return false;
    });
  }

 private:
  std::deque<Allocation> slots_;
  std::unordered_set<std::uint32_t> tainted_;
  std::size_t live_ = 0;
};

}  // namespace tessera::server
