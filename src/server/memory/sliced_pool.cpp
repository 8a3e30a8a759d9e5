// SPDX-License-Identifier: MIT OR Apache-2.0
// A block is in one of three states: taken; resting (free, in resting_, not joined); filed (free,
// in free_, and then no neighbour of it is filed).
#include "server/memory/sliced_pool.hpp"

#include <fmt/format.h>

#include <bit>
#include <cassert>

#include "server/defects.hpp"

namespace tessera::server {
namespace {

// A request that fills four fifths of a page may have it, unless a capacity counts the pages.
Pool::Accepts accepted(const SlicedPool::Config& config) {
  const std::uint64_t page = config.page_bytes;
  if (config.max_pages != 0) return {config.max_slice, 1, 0};
  return {config.max_slice, page - page / 5, page};
}

}  // namespace

SlicedPool::SlicedPool(PageStore& store, std::uint64_t alignment, Config config, Footprint* outer)
    : PagedPool(store, alignment, accepted(config), outer),
      config_(config),
      shift_(std::countr_zero(alignment)),
      free_(alignment) {}

Result<Block*> SlicedPool::take(std::uint64_t bytes, Mapping mapping) {
  Result<Block*> block = reuse(bytes, mapping);
  if (!block || *block != nullptr) return block;
  if (config_.max_pages != 0 && footprint_.pages >= config_.max_pages) return block;
  return grow(bytes, mapping);
}

Result<Block*> SlicedPool::reuse(std::uint64_t bytes, Mapping mapping) {
  const std::uint64_t need = padded(bytes);
  Block*& rested = resting_[group_of(need)];
  Block* block = rested;
  if (block != nullptr && block->bytes == need) {
    if (Status mapped = map_for(*block->page, mapping); !mapped) return mapped.error();
    block->resting = false;
    rested = nullptr;
    --resting_count_;
    return hand_out(block, bytes, need);
  }
  block = free_.find(need);
  if (block == nullptr && resting_count_ != 0) {
    wake_all();
    block = free_.find(need);
  }
  if (block == nullptr) return block;
  if (Status mapped = map_for(*block->page, mapping); !mapped) return mapped.error();
  free_.unlink(block);
  return hand_out(block, bytes, need);
}

Result<Block*> SlicedPool::grow(std::uint64_t bytes, Mapping mapping) {
  const Result<Page*> page = add_page(config_.page_bytes, mapping);
  if (!page) return page.error();
  unused_.append(*page);
  return hand_out((*page)->first, bytes, padded(bytes));
}

// The block is free and in no list. What it does not need of its bytes is filed.
Result<Block*> SlicedPool::hand_out(Block* block, std::uint64_t bytes, std::uint64_t need) {
  assert(block->bytes >= need);
  if (block->bytes > need) {
    Block* rest = store_.new_block();
    rest->page = block->page;
    rest->offset = block->offset + need;
    rest->bytes = block->bytes - need;
    rest->free = true;
    rest->before = block;
    rest->after = block->after;
    if (rest->after != nullptr) rest->after->before = rest;
    block->after = rest;
    block->bytes = need;
    // Records are copied only where somebody touched both parts' bytes.
    AccessRecord tail = block->record.clipped(rest->offset, rest->offset + rest->bytes);
    if (tail.range_count() != 0) {
      if (!defect(Defect::split_loses_record)) rest->record = std::move(tail);
      block->record = block->record.clipped(block->offset, rest->offset);
    }
    free_.link(rest);
  }
  if (block->page->taken == 0) unused_.remove(block->page);
  note_taken(*block, bytes);
  // Counted once it has succeeded: a caller who is refused and asks again counts once.
  if (config_.release_every != 0 && ++takes_ == config_.release_every) {
    takes_ = 0;
    release_free();
  }
  return block;
}

void SlicedPool::give_back(Block* block) {
  assert(!block->free);
  note_given(*block);
  Page* page = block->page;
  if (page->taken == 0) unused_.append(page);
  if (draining_) {
    join(block);
    if (page->taken == 0) release_free();
    return;
  }
  Block*& rested = resting_[group_of(block->bytes)];
  Block* earlier = rested;
  block->resting = true;
  rested = block;
  if (earlier == nullptr) {
    ++resting_count_;
  } else {
    earlier->resting = false;
    join(earlier);
  }
}

// Files a free block together with its filed neighbours.
Block* SlicedPool::join(Block* block) {
  const auto absorb = [this](Block* left, Block* right) {
    left->bytes += right->bytes;
    left->after = right->after;
    if (left->after != nullptr) left->after->before = left;
    if (!defect(Defect::coalesce_loses_record)) left->record.merge(std::move(right->record));
    store_.recycle(right);
  };
  if (Block* right = block->after; right != nullptr && right->free && !right->resting) {
    free_.unlink(right);
    absorb(block, right);
  }
  if (Block* left = block->before; left != nullptr && left->free && !left->resting) {
    free_.unlink(left);
    absorb(left, block);
    block = left;
  }
  free_.link(block);
  return block;
}

void SlicedPool::wake_all() {
  if (resting_count_ == 0) return;
  for (Block*& rested : resting_) {
    if (rested == nullptr) continue;
    rested->resting = false;
    join(rested);
    rested = nullptr;
  }
  resting_count_ = 0;
}

std::uint64_t SlicedPool::release_free() {
  std::uint64_t released = 0;
  if (unused_.empty()) return released;
  wake_all();
  while (!unused_.empty()) {
    Page* page = unused_.first();
    assert(page->first->after == nullptr);
    unused_.remove(page);
    free_.unlink(page->first);
    released += page->bytes;
    drop_page(page);
  }
  return released;
}

void SlicedPool::drain() {
  draining_ = true;
  wake_all();
  release_free();
}

PoolReport SlicedPool::report() const {
  PoolReport report = counts();
  report.kind = fmt::format("sliced, pages of {} bytes, slices up to {}", config_.page_bytes,
                            config_.max_slice);
  if (config_.max_pages != 0) {
    report.kind += fmt::format(", at most {} pages", config_.max_pages);
  }
  return report;
}

}  // namespace tessera::server
