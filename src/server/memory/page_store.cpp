// SPDX-License-Identifier: MIT OR Apache-2.0
// Pages are few and their life is long; blocks come and go. Both are kept for reuse, so that their
// addresses stay good for whoever holds one and nothing is allocated once a program has settled.
#include "server/memory/page_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "server/defects.hpp"

namespace tessera::server {

PageStore::~PageStore() {
  if (abandoned_) return;
  for (const auto& [id, page] : mapped_) driver_.free(id);  // retired ones too
}

Result<driver::PageId> PageStore::allocate(std::uint64_t bytes) {
  Result<driver::PageId> id = driver_.allocate(driver::PageKind::device, bytes);
  if (!id && id.error().kind() == ErrorKind::OutOfMemory && collect() > 0) {
    id = driver_.allocate(driver::PageKind::device, bytes);
  }
  return id;
}

Result<Page*> PageStore::make(Pool* pool, std::uint64_t bytes, Mapping mapping) {
  driver::PageId id = Page::unmapped;
  if (mapping == Mapping::eager) {
    const Result<driver::PageId> made = allocate(bytes);
    if (!made) return made.error();
    id = *made;
  } else if (const std::uint64_t limit = driver_.properties().page_limit; bytes > limit) {
    return Error(ErrorKind::TooLarge,
                 fmt::format("A page of {} bytes is larger than the {} bytes that a page of {} may "
                             "have. Divide the data over several buffers.",
                             bytes, limit, driver_.properties().name));
  }
  Page* page = nullptr;
  if (!spare_pages_.empty()) {
    page = spare_pages_.back();
    spare_pages_.pop_back();
    *page = Page();
  } else {
    pages_.push_back(std::make_unique<Page>());
    page = pages_.back().get();
  }
  page->pool = pool;
  page->id = id;
  page->bytes = bytes;
  page->first = new_block();
  page->first->page = page;
  page->first->bytes = bytes;
  page->first->free = true;
  if (id != Page::unmapped) {
    mapped_.emplace(id, page);
  } else {
    unmapped_ += bytes;
  }
  reserved_ += bytes;
  peak_ = std::max(peak_, reserved_);
  return page;
}

Status PageStore::map(Page& page) {
  if (page.id != Page::unmapped) return {};
  const Result<driver::PageId> id = allocate(page.bytes);
  if (!id) return id.error();
  page.id = *id;
  mapped_.emplace(*id, &page);
  unmapped_ -= page.bytes;
  return {};
}

void PageStore::hold(driver::PageId page) {
  if (const auto found = mapped_.find(page); found != mapped_.end()) ++found->second->holds;
}

void PageStore::let_go(driver::PageId page) {
  const auto found = mapped_.find(page);
  if (found == mapped_.end() || --found->second->holds != 0) return;
  // Retired while it was held: commands may have touched it since.
  for (Retired& retired : retired_) {
    if (retired.page == found->second) retired.outstanding = outstanding(*retired.page);
  }
}

PointSet PageStore::outstanding(const Page& page) const {
  PointSet points;
  if (defect(Defect::free_page_early)) return points;
  if (clocks_ != nullptr && clocks_->queues() == 1) {
    if (clocks_->last(0) > 0) points.insert({0, clocks_->last(0)});
    return points;
  }
  for (const Block* block = page.first; block != nullptr; block = block->after) {
    block->record.before_write(block->offset, block->offset + block->bytes, points);
  }
  return points;
}

void PageStore::free(Page* page) {
  for (Block* block = page->first; block != nullptr;) {
    Block* after = block->after;
    recycle(block);
    block = after;
  }
  if (page->id != Page::unmapped) {
    mapped_.erase(page->id);
    driver_.free(page->id);
  }
  spare_pages_.push_back(page);
}

void PageStore::retire(Page* page) {
  assert(page->taken == 0);
  reserved_ -= page->bytes;
  if (page->id == Page::unmapped) unmapped_ -= page->bytes;
  PointSet points = outstanding(*page);
  if (page->holds == 0 && points.empty()) return free(page);
  retiring_ += page->bytes;
  retired_.push_back({page, std::move(points)});
}

std::uint64_t PageStore::collect(bool lost) {
  std::uint64_t freed = 0;
  std::erase_if(retired_, [&](const Retired& retired) {
    if (retired.page->holds != 0) return false;
    for (const Point point : retired.outstanding) {
      if (!lost && driver_.completed(point.queue) < point.ticket) return false;
    }
    freed += retired.page->bytes;
    free(retired.page);
    return true;
  });
  retiring_ -= freed;
  return freed;
}

Block* PageStore::new_block() {
  if (!spare_.empty()) {
    Block* block = spare_.back();
    spare_.pop_back();
    *block = Block();
    return block;
  }
  blocks_.push_back(std::make_unique<Block>());
  return blocks_.back().get();
}

void PageStore::recycle(Block* block) {
  spare_.push_back(block);
}

Block* PageStore::at(driver::PageId page, std::uint64_t offset) {
  const auto found = mapped_.find(page);
  if (found == mapped_.end()) return nullptr;
  Block* block = found->second->first;
  while (block != nullptr && block->offset + block->bytes <= offset) block = block->after;
  return block;
}

}  // namespace tessera::server
