// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/memory/adaptive_pool.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::server {

namespace {

// On a small device a page of the usual size would be too much of it for a few small slices.
std::uint64_t small_page_of(std::uint64_t page_limit, std::uint64_t alignment) {
  const std::uint64_t eighth = page_limit / 8 & ~(alignment - 1);
  return std::min(page_limit,
                  std::clamp(eighth, AdaptivePool::small_slice, AdaptivePool::small_page));
}

}  // namespace

AdaptivePool::AdaptivePool(PageStore& store, std::uint64_t alignment, std::uint64_t page_limit,
                           std::uint64_t first_page)
    : Pool(store, alignment, {page_limit}),
      page_limit_(page_limit),
      first_page_(std::min(first_page, page_limit)),
      small_(store, alignment,
             {small_page_of(page_limit, alignment), std::min(small_slice, page_limit), 0, 0},
             &footprint_),
      alone_(store, alignment, page_limit, 0, &footprint_) {
  arena_.reserve(max_sizes);
}

Result<Block*> AdaptivePool::take(std::uint64_t bytes, Mapping mapping) {
  largest_ = std::max(largest_, bytes);
  if (bytes <= std::min(small_slice, page_limit_)) return take_from(small_, bytes, mapping);
  if (!arena_.empty() && bytes <= arena_.back()->page_bytes()) {
    return take_from(*arena_.back(), bytes, mapping);
  }
  return grow(bytes, mapping);
}

Result<Block*> AdaptivePool::take_from(SlicedPool& pool, std::uint64_t bytes, Mapping mapping) {
  Result<Block*> block = pool.reuse(bytes, mapping);
  if (!block || *block != nullptr) return block;
  const std::uint64_t capacity = store_.driver().properties().capacity;
  if (capacity != 0 && store_.reserved() + pool.page_bytes() > capacity) {
    return alone_.take(bytes, mapping);
  }
  return pool.grow(bytes, mapping);
}

// A larger page size counts once its first page is there; until then nothing has changed.
Result<Block*> AdaptivePool::grow(std::uint64_t bytes, Mapping mapping) {
  const SlicedPool* current = arena_.empty() ? nullptr : arena_.back().get();
  std::erase_if(arena_, [&](const std::unique_ptr<SlicedPool>& pool) {
    return pool.get() != current && pool->empty();
  });
  if (arena_.size() == max_sizes) return alone_.take(bytes, mapping);
  const std::uint64_t page =
      std::clamp(padded((bytes + growth + growth - 1) / growth * growth), first_page_, page_limit_);
  const std::uint64_t capacity = store_.driver().properties().capacity;
  if (capacity != 0 && store_.reserved() + page > capacity) return alone_.take(bytes, mapping);
  auto pool = std::make_unique<SlicedPool>(store_, alignment_, SlicedPool::Config{page, page, 0, 0},
                                           &footprint_);
  Result<Block*> block = pool->grow(bytes, mapping);
  if (!block) return block;
  if (!arena_.empty()) {
    arena_.back()->drain();
    if (arena_.back()->empty()) arena_.pop_back();
  }
  arena_.push_back(std::move(pool));
  return block;
}

void AdaptivePool::give_back(Block* block) {
  block->page->pool->give_back(block);
}

template <class F>
void AdaptivePool::for_each_pool(F&& f) const {
  f(small_);
  for (const auto& pool : arena_) f(*pool);
  f(alone_);
}

std::uint64_t AdaptivePool::release_free() {
  std::uint64_t released = small_.release_free() + alone_.release_free();
  for (const auto& pool : arena_) released += pool->release_free();
  return released;
}

void AdaptivePool::drain() {
  small_.drain();
  for (const auto& pool : arena_) pool->drain();
  alone_.drain();
}

bool AdaptivePool::empty() const noexcept {
  return small_.empty() && alone_.empty() &&
         std::all_of(arena_.begin(), arena_.end(), [](const auto& pool) { return pool->empty(); });
}

void AdaptivePool::for_each_taken(const std::function<void(Block&)>& f) {
  small_.for_each_taken(f);
  for (const auto& pool : arena_) pool->for_each_taken(f);
  alone_.for_each_taken(f);
}

PoolReport AdaptivePool::report() const {
  PoolReport report;
  std::size_t draining = 0;
  for_each_pool([&](const PagedPool& pool) {
    const PoolReport part = pool.counts();
    report.live += part.live;
    report.bytes += part.bytes;
    report.padding += part.padding;
    report.unmapped += part.unmapped;
  });
  for (std::size_t i = 0; i + 1 < arena_.size(); ++i) draining += arena_[i]->empty() ? 0 : 1;
  report.reserved = footprint_.reserved;
  report.peak = footprint_.peak;
  report.pages = footprint_.pages;
  report.pages_peak = footprint_.pages_peak;
  report.largest_request = largest_;
  report.kind = fmt::format("adaptive, small pages of {} bytes, ", small_.page_bytes());
  if (arena_.empty()) {
    report.kind += fmt::format("others from {} bytes", first_page_);
  } else {
    report.kind += fmt::format("others of {} bytes", arena_.back()->page_bytes());
  }
  if (draining != 0) report.kind += fmt::format(", {} earlier sizes draining", draining);
  return report;
}

}  // namespace tessera::server
