// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/memory/allocation_table.hpp"

#include <fmt/format.h>

#include <utility>

namespace tessera::server {

AllocationId AllocationIds::next() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return {slots_++, 1};
  const AllocationId id = free_.back();
  free_.pop_back();
  return id;
}

void AllocationIds::recycle(AllocationId id) {
  batch_.push_back({id.slot, id.generation + 1});
  if (batch_.size() < batch_size) return;
  const std::lock_guard lock(mutex_);
  free_.insert(free_.end(), batch_.begin(), batch_.end());
  batch_.clear();
}

void Labels::set(AllocationId id, std::string label) {
  const std::lock_guard lock(mutex_);
  any_.store(true, std::memory_order_release);
  if (labels_.size() <= id.slot) labels_.resize(id.slot + 1);
  labels_[id.slot] = std::move(label);
}

std::string Labels::name(AllocationId id) const {
  const std::lock_guard lock(mutex_);
  if (id.slot < labels_.size() && !labels_[id.slot].empty()) {
    return fmt::format("buffer \"{}\"", labels_[id.slot]);
  }
  return fmt::format("buffer #{}", id.slot);
}

void Labels::forget(AllocationId id) {
  if (!any_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  if (id.slot < labels_.size()) labels_[id.slot].clear();
}

Allocation& AllocationTable::make(AllocationId id, std::uint64_t bytes) {
  if (slots_.size() <= id.slot) slots_.resize(id.slot + 1);
  Allocation& a = slots_[id.slot];
  a = Allocation();
  a.id = id;
  a.bytes = bytes;
  a.live = true;
  ++live_;
  return a;
}

Allocation* AllocationTable::find(AllocationId id) {
  if (id.slot >= slots_.size()) return nullptr;
  Allocation& a = slots_[id.slot];
  return a.live && a.id == id ? &a : nullptr;
}

void AllocationTable::forget(AllocationId id) {
  if (Allocation* a = find(id)) {
    if (a->never || !a->claims.empty()) tainted_.erase(id.slot);
    *a = Allocation();
    --live_;
  }
}

}  // namespace tessera::server
