// SPDX-License-Identifier: MIT OR Apache-2.0
// What pools that own pages have in common: a number for every page, the counts of their reports,
// and memory for a page that was promised it.
#pragma once

#include <algorithm>
#include <vector>

#include "server/memory/pool.hpp"

namespace tessera::server {

/// How much a pool has of the device, and the most that it had. Pools that are part of another
/// count for that one too, whose peak is not the sum of theirs.
struct Footprint {
  std::uint64_t reserved = 0, peak = 0, pages = 0, pages_peak = 0;

  void add(std::uint64_t bytes) {
    peak = std::max(peak, reserved += bytes);
    pages_peak = std::max(pages_peak, ++pages);
  }
  void remove(std::uint64_t bytes) {
    reserved -= bytes;
    --pages;
  }
  void restart() {
    peak = reserved;
    pages_peak = pages;
  }
};

/// Pages in an order, through Page::next and Page::previous.
class PageList {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  Page* first() const noexcept { return first_; }
  void append(Page* page) noexcept {
    page->previous = last_;
    page->next = nullptr;
    (last_ != nullptr ? last_->next : first_) = page;
    last_ = page;
  }
  void remove(Page* page) noexcept {
    (page->previous != nullptr ? page->previous->next : first_) = page->next;
    (page->next != nullptr ? page->next->previous : last_) = page->previous;
    page->next = page->previous = nullptr;
  }

 private:
  Page* first_ = nullptr;
  Page* last_ = nullptr;
};

class PagedPool : public Pool {
 public:
  bool empty() const noexcept final { return live_ == 0; }
  void for_each_taken(const std::function<void(Block&)>& f) final;
  void count_as_padding(Block& block, std::uint64_t bytes) final {
    block.requested -= bytes;
    bytes_ -= bytes;
    padding_ += bytes;
  }
  void restart_peaks() final { footprint_.restart(); }
  const Footprint& footprint() const noexcept { return footprint_; }
  /// Counts of the report; the kind is left to the pool.
  PoolReport counts() const;

 protected:
  /// `outer`: of the pool that this one is part of, or null.
  PagedPool(PageStore& store, std::uint64_t alignment, Accepts accepts, Footprint* outer)
      : Pool(store, alignment, accepts), outer_(outer) {}

  Result<Page*> add_page(std::uint64_t bytes, Mapping mapping);
  void drop_page(Page* page);
  Page* page(std::size_t index) const noexcept { return pages_[index]; }
  Status map_for(Page& page, Mapping mapping) {
    if (mapping == Mapping::lazy || page.id != Page::unmapped) return {};
    return store_.map(page);
  }
  void note_taken(Block& block, std::uint64_t bytes) noexcept {
    block.free = false;
    block.requested = bytes;
    block.pins = 0;
    block.page->taken += 1;
    live_ += 1;
    bytes_ += bytes;
    padding_ += block.bytes - bytes;
    largest_ = std::max(largest_, bytes);
  }
  void note_given(Block& block) noexcept {
    block.free = true;
    block.page->taken -= 1;
    live_ -= 1;
    bytes_ -= block.requested;
    padding_ -= block.bytes - block.requested;
  }

  Footprint footprint_;

 private:
  Footprint* outer_;
  std::vector<Page*> pages_;  // by Page::index; null where one went
  std::vector<std::size_t> gaps_;
  std::uint64_t live_ = 0, bytes_ = 0, padding_ = 0, largest_ = 0;
};

}  // namespace tessera::server
