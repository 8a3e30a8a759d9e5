// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/memory/release_list.hpp"

#include <algorithm>

namespace tessera::server {

ReleaseList::~ReleaseList() {
  collect();
  for (ReleaseNode* node : waiting_) delete node;
}

void ReleaseList::push(ReleaseNode* node, std::uint64_t position) noexcept {
  node->position_ = position;
  node->next_ = head_.load(std::memory_order_relaxed);
  while (!head_.compare_exchange_weak(node->next_, node, std::memory_order_release,
                                      std::memory_order_relaxed)) {
  }
}

void ReleaseList::collect() {
  const std::size_t before = waiting_.size();
  for (ReleaseNode* n = head_.exchange(nullptr, std::memory_order_acquire); n != nullptr;
       n = n->next_) {
    waiting_.push_back(n);
  }
  std::reverse(waiting_.begin() + static_cast<std::ptrdiff_t>(before), waiting_.end());
}

}  // namespace tessera::server
