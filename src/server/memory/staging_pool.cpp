// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/memory/staging_pool.hpp"

#include <utility>

namespace tessera::server {
namespace {

constexpr std::size_t class_bytes(int c) {
  return std::size_t{64} << (2 * c);
}

int class_for(std::size_t bytes, int classes) {
  for (int c = 0; c < classes; ++c) {
    if (bytes <= class_bytes(c)) return c;
  }
  return -1;
}

}  // namespace

StagingId StagingPool::take_record(int size_class) {
  auto& list = size_class >= 0 ? free_[size_class] : free_records_;
  if (!list.empty()) {
    const StagingId id = list.back();
    list.pop_back();
    return id;
  }
  records_.emplace_back();
  records_.back().size_class = size_class;
  return static_cast<StagingId>(records_.size() - 1);
}

StagingPool::Lease StagingPool::acquire(std::size_t bytes) {
  const int size_class = class_for(bytes, classes);
  const std::size_t room = size_class >= 0 ? class_bytes(size_class) : bytes;
  const std::lock_guard lock(mutex_);
  const StagingId id = take_record(size_class);
  Record& record = records_[id];
  if (!record.block) record.block = std::make_unique<std::byte[]>(room);
  record.bytes = {record.block.get(), bytes};
  outstanding_.fetch_add(bytes, std::memory_order_relaxed);
  return {id, {record.block.get(), bytes}};
}

StagingId StagingPool::adopt(base::Bytes bytes) {
  const std::lock_guard lock(mutex_);
  const StagingId id = take_record(-1);
  Record& record = records_[id];
  record.bytes = bytes.span();
  record.owned = std::move(bytes);
  outstanding_.fetch_add(record.bytes.size(), std::memory_order_relaxed);
  return id;
}

std::span<const std::byte> StagingPool::view(StagingId id) const {
  const std::lock_guard lock(mutex_);
  return records_[id].bytes;
}

void StagingPool::release(StagingId id) {
  base::Bytes owned;  // user memory is freed after the lock
  std::unique_ptr<std::byte[]> block;
  const std::lock_guard lock(mutex_);
  Record& record = records_[id];
  outstanding_.fetch_sub(record.bytes.size(), std::memory_order_relaxed);
  record.bytes = {};
  owned = std::move(record.owned);
  if (record.size_class >= 0) {
    free_[record.size_class].push_back(id);
  } else {
    block = std::move(record.block);
    free_records_.push_back(id);
  }
}

}  // namespace tessera::server
