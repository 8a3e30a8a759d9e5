// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/memory/page_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tessera::server {

PagePool::PagePool(driver::Driver& driver, std::uint64_t page_bytes, std::uint64_t alignment)
    : driver_(driver),
      page_bytes_(std::min(page_bytes, driver.properties().page_limit) & ~(alignment - 1)),
      alignment_(alignment) {}

PagePool::~PagePool() {
  while (!pages_.empty()) drop_page(pages_.size() - 1);
}

// Lists hold blocks of [lower bound, next bound). Filing rounds down, looking up rounds up, so that
// any block of the list found is large enough.
int PagePool::list_of(std::uint64_t bytes, std::uint64_t unit, bool round_up) {
  std::uint64_t units = bytes / unit;
  if (units < parts) return static_cast<int>(units);
  int level = 63 - std::countl_zero(units);  // >= 3
  std::uint64_t part = (units >> (level - 3)) & 7;
  if (round_up && (units & ((std::uint64_t{1} << (level - 3)) - 1)) != 0) {
    if (++part == parts) {
      part = 0;
      ++level;
    }
  }
  return (level - 2) * parts + static_cast<int>(part);
}

Block* PagePool::new_block() {
  if (!spare_.empty()) {
    Block* block = spare_.back();
    spare_.pop_back();
    *block = Block();
    return block;
  }
  blocks_.push_back(std::make_unique<Block>());
  return blocks_.back().get();
}

void PagePool::link(Block* block) {
  const int list = list_of(block->bytes, alignment_, false);
  block->free = true;
  block->previous = nullptr;
  block->next = lists_[list];
  if (block->next != nullptr) block->next->previous = block;
  lists_[list] = block;
  filled_[list / 64] |= std::uint64_t{1} << (list % 64);
}

void PagePool::unlink(Block* block) {
  const int list = list_of(block->bytes, alignment_, false);
  if (block->previous != nullptr) {
    block->previous->next = block->next;
  } else {
    lists_[list] = block->next;
    if (lists_[list] == nullptr) filled_[list / 64] &= ~(std::uint64_t{1} << (list % 64));
  }
  if (block->next != nullptr) block->next->previous = block->previous;
  block->next = block->previous = nullptr;
  block->free = false;
}

Block* PagePool::find(std::uint64_t bytes) {
  const int from = list_of(bytes, alignment_, true);
  for (int word = from / 64; word < static_cast<int>(filled_.size()); ++word) {
    std::uint64_t bits = filled_[word];
    if (word == from / 64) bits &= ~std::uint64_t{0} << (from % 64);
    if (bits != 0) return lists_[word * 64 + std::countr_zero(bits)];
  }
  return nullptr;
}

Result<Block*> PagePool::take(std::uint64_t bytes) {
  const std::uint64_t limit = driver_.properties().page_limit;
  if (bytes > limit) {
    return Error(ErrorKind::TooLarge,
                 fmt::format("A buffer of {} bytes is larger than the {} bytes that one buffer of "
                             "{} can have.",
                             bytes, limit, driver_.properties().name));
  }
  const std::uint64_t need = (bytes + alignment_ - 1) & ~(alignment_ - 1);
  Block* block = find(need);
  if (block == nullptr) {
    const std::uint64_t size = std::max(need, page_bytes_);
    Result<driver::PageId> page = driver_.allocate(driver::PageKind::device, size);
    if (!page) return page.error();
    block = new_block();
    block->page = *page;
    block->bytes = size;
    pages_.push_back({*page, block});
    usage_.reserved += size;
    usage_.pages += 1;
    link(block);
  }
  unlink(block);
  if (block->bytes > need) {
    Block* rest = new_block();
    rest->page = block->page;
    rest->offset = block->offset + need;
    rest->bytes = block->bytes - need;
    rest->before = block;
    rest->after = block->after;
    if (rest->after != nullptr) rest->after->before = rest;
    block->after = rest;
    block->bytes = need;
    rest->record = block->record.clipped(rest->offset, rest->offset + rest->bytes);
    block->record = block->record.clipped(block->offset, rest->offset);
    link(rest);
  }
  usage_.taken += block->bytes;
  return block;
}

void PagePool::give_back(Block* block) {
  usage_.taken -= block->bytes;
  const auto absorb = [this](Block* left, Block* right) {
    left->bytes += right->bytes;
    left->after = right->after;
    if (left->after != nullptr) left->after->before = left;
    left->record.merge(std::move(right->record));
    spare_.push_back(right);
  };
  if (block->after != nullptr && block->after->free) {
    unlink(block->after);
    absorb(block, block->after);
  }
  if (block->before != nullptr && block->before->free) {
    Block* left = block->before;
    unlink(left);
    absorb(left, block);
    block = left;
  }
  link(block);
}

Block* PagePool::at(driver::PageId page, std::uint64_t offset) {
  for (const Page& p : pages_) {
    if (p.id != page) continue;
    Block* block = p.first;
    while (block != nullptr && block->offset + block->bytes <= offset) block = block->after;
    return block;
  }
  return nullptr;
}

void PagePool::drop_page(std::size_t index) {
  Block* block = pages_[index].first;
  const driver::PageId page = pages_[index].id;
  while (block != nullptr) {
    Block* after = block->after;
    usage_.reserved -= block->bytes;
    if (block->free) unlink(block);
    spare_.push_back(block);
    block = after;
  }
  usage_.pages -= 1;
  driver_.free(page);
  pages_[index] = pages_.back();
  pages_.pop_back();
}

}  // namespace tessera::server
