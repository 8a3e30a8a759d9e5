// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/memory/release_list.hpp"

#include <algorithm>
#include <vector>

namespace tessera::server {

ReleaseList::~ReleaseList() {
  const auto destroy = [](ReleaseNode* chain) {
    while (chain != nullptr) {
      ReleaseNode* next = chain->next_;
      delete chain;
      chain = next;
    }
  };
  collect();
  for (ReleaseNode* node : waiting_) delete node;
  destroy(batch_);
  destroy(spare_);
}

void ReleaseList::push(ReleaseNode* node, std::uint64_t position) noexcept {
  node->position_ = position;
  node->next_ = head_.load(std::memory_order_relaxed);
  while (!head_.compare_exchange_weak(node->next_, node, std::memory_order_release,
                                      std::memory_order_relaxed)) {
  }
}

// The stack gives the latest drop first. Threads read the position before they push, so the drops
// are nearly in order: each finds its place from the back.
void ReleaseList::collect() {
  ReleaseNode* oldest_first = nullptr;
  for (ReleaseNode* n = head_.exchange(nullptr, std::memory_order_acquire); n != nullptr;) {
    ReleaseNode* next = n->next_;
    n->next_ = oldest_first;
    oldest_first = n;
    n = next;
  }
  for (ReleaseNode* n = oldest_first; n != nullptr; n = n->next_) {
    auto place = waiting_.end();
    while (place != waiting_.begin() && (*std::prev(place))->position_ > n->position_) --place;
    waiting_.insert(place, n);
  }
}

void ReleaseList::hand_back() {
  ReleaseNode* last = batch_;
  while (last->next_ != nullptr) last = last->next_;
  {
    const std::lock_guard lock(spare_mutex_);
    last->next_ = spare_;
    spare_ = batch_;
  }
  batch_ = nullptr;
  batched_ = 0;
}

ReleaseNode* ReleaseList::take_spare() {
  const std::lock_guard lock(spare_mutex_);
  ReleaseNode* node = spare_;
  if (node != nullptr) spare_ = node->next_;
  return node;
}

}  // namespace tessera::server
