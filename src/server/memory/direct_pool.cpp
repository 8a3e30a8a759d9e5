// SPDX-License-Identifier: MIT OR Apache-2.0
// Unused pages are in three places at once: by size, to be taken; by time, for persistent memory;
// by number, for the watermark.
#include "server/memory/direct_pool.hpp"

#include <fmt/format.h>

#include <bit>
#include <cassert>

namespace tessera::server {

DirectPool::DirectPool(PageStore& store, std::uint64_t alignment, std::uint64_t max_bytes,
                       std::uint64_t reclaim_at, Use use)
    : PagedPool(store, alignment, {max_bytes}, nullptr), reclaim_at_(reclaim_at), use_(use) {}

Result<Block*> DirectPool::take(std::uint64_t bytes, Mapping mapping) {
  const std::uint64_t need = padded(bytes);
  if (const auto found = sizes_.find(need);
      found != sizes_.end() && found->second.unused != nullptr) {
    Block* block = found->second.unused;
    if (Status mapped = map_for(*block->page, mapping); !mapped) return mapped.error();
    unfile(block, found->second);
    note_taken(*block, bytes);
    return block;
  }
  reclaim(need);
  const Result<Page*> page = add_page(need, mapping);
  if (!page) return page.error();
  sizes_[need].pages += 1;
  if ((*page)->index / 64 == unused_numbers_.size()) unused_numbers_.push_back(0);
  note_taken(*(*page)->first, bytes);
  return (*page)->first;
}

void DirectPool::give_back(Block* block) {
  assert(!block->free);
  note_given(*block);
  file(block);
  if (draining_) {
    retire(block->page);
  } else if (use_ == Use::persistent) {
    while (unused_bytes_ > footprint_.reserved - unused_bytes_ + margin) retire(unused_.first());
  }
}

void DirectPool::file(Block* block) {
  Page* page = block->page;
  Size& size = sizes_[block->bytes];
  block->previous = nullptr;
  block->next = size.unused;
  if (block->next != nullptr) block->next->previous = block;
  size.unused = block;
  unused_.append(page);
  unused_bytes_ += page->bytes;
  unused_numbers_[page->index / 64] |= std::uint64_t{1} << (page->index % 64);
}

void DirectPool::unfile(Block* block, Size& size) {
  Page* page = block->page;
  (block->previous != nullptr ? block->previous->next : size.unused) = block->next;
  if (block->next != nullptr) block->next->previous = block->previous;
  block->next = block->previous = nullptr;
  unused_.remove(page);
  unused_bytes_ -= page->bytes;
  unused_numbers_[page->index / 64] &= ~(std::uint64_t{1} << (page->index % 64));
}

void DirectPool::retire(Page* page) {
  const auto found = sizes_.find(page->bytes);
  unfile(page->first, found->second);
  found->second.pages -= 1;
  if (found->second.pages == 0) sizes_.erase(found);
  drop_page(page);
}

void DirectPool::reclaim(std::uint64_t coming) {
  if (reclaim_at_ == 0) return;
  for (std::size_t word = 0; word < unused_numbers_.size() && !unused_.empty();) {
    if (footprint_.reserved + coming <= reclaim_at_) return;
    const std::uint64_t bits = unused_numbers_[word];
    if (bits == 0) {
      ++word;
    } else {
      retire(page(word * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
    }
  }
}

std::uint64_t DirectPool::release_free() {
  const std::uint64_t before = footprint_.reserved;
  while (!unused_.empty()) retire(unused_.first());
  return before - footprint_.reserved;
}

void DirectPool::drain() {
  draining_ = true;
  release_free();
}

PoolReport DirectPool::report() const {
  PoolReport report = counts();
  report.kind = use_ == Use::persistent ? "persistent" : "direct";
  if (reclaim_at_ != 0) report.kind += fmt::format(", reclaims above {} bytes", reclaim_at_);
  return report;
}

}  // namespace tessera::server
