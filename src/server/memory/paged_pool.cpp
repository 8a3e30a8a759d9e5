// SPDX-License-Identifier: MIT OR Apache-2.0
// A page keeps its number for as long as it lives; a page made later takes a number that is free.
#include "server/memory/paged_pool.hpp"

#include <cassert>

namespace tessera::server {

Result<Page*> PagedPool::add_page(std::uint64_t bytes, Mapping mapping) {
  Result<Page*> made = store_.make(this, bytes, mapping);
  if (!made) return made;
  Page* page = *made;
  if (gaps_.empty()) {
    page->index = pages_.size();
    pages_.push_back(page);
  } else {
    page->index = gaps_.back();
    gaps_.pop_back();
    pages_[page->index] = page;
  }
  footprint_.add(bytes);
  if (outer_ != nullptr) outer_->add(bytes);
  return made;
}

void PagedPool::drop_page(Page* page) {
  assert(page->taken == 0);
  footprint_.remove(page->bytes);
  if (outer_ != nullptr) outer_->remove(page->bytes);
  pages_[page->index] = nullptr;
  gaps_.push_back(page->index);
  store_.retire(page);
}

void PagedPool::for_each_taken(const std::function<void(Block&)>& f) {
  for (Page* page : pages_) {
    if (page == nullptr) continue;
    for (Block* block = page->first; block != nullptr; block = block->after) {
      if (!block->free) f(*block);
    }
  }
}

PoolReport PagedPool::counts() const {
  PoolReport report;
  report.live = live_;
  report.bytes = bytes_;
  report.padding = padding_;
  report.reserved = footprint_.reserved;
  report.peak = footprint_.peak;
  report.pages = footprint_.pages;
  report.pages_peak = footprint_.pages_peak;
  report.largest_request = largest_;
  for (const Page* page : pages_) {
    if (page != nullptr && page->id == Page::unmapped) report.unmapped += page->bytes;
  }
  return report;
}

}  // namespace tessera::server
