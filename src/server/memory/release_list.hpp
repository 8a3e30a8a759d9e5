// SPDX-License-Identifier: MIT OR Apache-2.0
// Allocations whose last handle is gone, on their way to the server, and back as spare ones.
//
// Handles die on any thread, in any place, so a drop may not block, allocate or fail: the
// allocation's own node is pushed on a lock-free stack. It carries the ring position at the drop,
// and the server applies it when it has executed that many commands: then everything that was
// issued with the handle has been seen, and placement depends on the order of calls alone, never
// on which thread ran first.
//
// A node is made by one thread and dies by another, which allocators do not like; so nodes go
// round. Applied, they go back in batches to whoever makes the next allocations.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

#include "server/defects.hpp"
#include "server/ids.hpp"

namespace tessera::server {

class ReleaseNode {
 public:
  ReleaseNode() = default;
  ReleaseNode(const ReleaseNode&) = delete;
  ReleaseNode& operator=(const ReleaseNode&) = delete;
  virtual ~ReleaseNode() = default;

  AllocationId id;
  std::uint64_t bytes = 0;

 private:
  friend class ReleaseList;
  ReleaseNode* next_ = nullptr;
  std::uint64_t position_ = 0;
};

/// All nodes of a list are of one class.
class ReleaseList {
 public:
  ReleaseList() = default;
  ~ReleaseList();
  ReleaseList(const ReleaseList&) = delete;
  ReleaseList& operator=(const ReleaseList&) = delete;

  /// Counts the positions that were given out. A drop that begins after a look at the counter has a
  /// position at or after it; so up to there the list need not be looked at again, and a consumer
  /// that is behind pays for the shared line once in a while instead of at each command. (A drop
  /// that was under way meanwhile is concurrent with those commands, and has no order with them.)
  void watch(const std::atomic<std::uint64_t>& issued) noexcept { issued_ = &issued; }
  /// Takes the node over. Any thread; wait-free but for one compare-and-swap loop.
  void push(ReleaseNode* node, std::uint64_t position) noexcept;
  /// A node that was applied, or null. Any thread.
  ReleaseNode* take_spare();

  /// Calls f(id) for each node that was dropped at or before `executed` commands, by position and
  /// then in the order of the drops. Server only. Costs nothing for nodes that are not due.
  template <class F>
  void apply(std::uint64_t executed, F&& f) {
    if (executed >= known_until_) {
      known_until_ = issued_ != nullptr ? issued_->load(std::memory_order_acquire) : 0;
      if (head_.load(std::memory_order_relaxed) != nullptr) collect();
    }
    while (!waiting_.empty() &&
           (waiting_.front()->position_ <= executed || defect(Defect::release_overtakes))) {
      ReleaseNode* node = waiting_.front();
      waiting_.pop_front();
      f(node->id);
      node->next_ = batch_;
      batch_ = node;
      if (++batched_ == batch_size) hand_back();
    }
  }

 private:
  static constexpr std::uint32_t batch_size = 64;
  void collect();
  void hand_back();

  std::atomic<ReleaseNode*> head_{nullptr};
  alignas(64) const std::atomic<std::uint64_t>* issued_ = nullptr;
  std::uint64_t known_until_ = 0;
  std::deque<ReleaseNode*> waiting_;  // by position
  ReleaseNode* batch_ = nullptr;
  std::uint32_t batched_ = 0;
  alignas(64) std::mutex spare_mutex_;
  ReleaseNode* spare_ = nullptr;
};

}  // namespace tessera::server
