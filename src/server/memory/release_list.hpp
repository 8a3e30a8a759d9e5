// SPDX-License-Identifier: MIT OR Apache-2.0
// Allocations whose last handle is gone, on their way to the server.
//
// Handles die on any thread, in any place, so a drop may not block, allocate or fail: the
// allocation's own node is pushed on a lock-free stack. It carries the ring position at the drop,
// and the server applies it when it has executed that many commands: then everything that was
// issued with the handle has been seen, and placement depends on the order of calls alone, never
// on which thread ran first.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

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

class ReleaseList {
 public:
  ~ReleaseList();

  /// Takes the node over. Any thread; wait-free but for one compare-and-swap loop.
  void push(ReleaseNode* node, std::uint64_t position) noexcept;

  /// Calls f(id) for each node that was dropped at or before `executed` commands, in the order of
  /// the drops, and deletes it. Server only.
  template <class F>
  void apply(std::uint64_t executed, F&& f) {
    if (head_.load(std::memory_order_relaxed) == nullptr && waiting_.empty()) return;
    collect();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      ReleaseNode* node = waiting_[i];
      if (node->position_ <= executed || defect(Defect::release_overtakes)) {
        f(node->id);
        delete node;
      } else {
        waiting_[kept++] = node;
      }
    }
    waiting_.resize(kept);
  }

 private:
  void collect();
  std::atomic<ReleaseNode*> head_{nullptr};
  std::vector<ReleaseNode*> waiting_;  // oldest first
};

}  // namespace tessera::server
