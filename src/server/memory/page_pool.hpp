// SPDX-License-Identifier: MIT OR Apache-2.0
// Blocks of device pages.
//
// A page is divided into blocks that cover it without gaps: each knows its neighbours (boundary
// tags), whether it is taken and who touched its bytes (AccessRecord). Free blocks are found
// through lists by size, 8 per power of two, with a bit map over the lists; taking splits, giving
// back coalesces, and none of it walks over pages or blocks. Placement depends only on the order of
// requests and releases: what the device has finished meanwhile plays no part, since a block may
// be handed out while its last owner's operations still run (its record sees to the waiting).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "driver/driver.hpp"
#include "server/ordering/access_record.hpp"

namespace tessera::server {

// Apart from the Block of block.hpp, which the same program contains.
inline namespace single_pool {

struct Block {
  driver::PageId page = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool free = false;
  Block* before = nullptr;  // neighbours in the page
  Block* after = nullptr;
  Block* next = nullptr;  // in its free list
  Block* previous = nullptr;
  AccessRecord record;  // in page offsets
};

struct PoolUsage {
  std::uint64_t reserved = 0;  // bytes of pages
  std::uint64_t taken = 0;     // bytes of taken blocks
  std::uint32_t pages = 0;
};

class PagePool {
 public:
  /// Pages of `page_bytes`, larger ones for requests over it. Block sizes and offsets are
  /// multiples of `alignment`, a power of two.
  PagePool(driver::Driver& driver, std::uint64_t page_bytes, std::uint64_t alignment);
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  /// A block of at least `bytes` > 0. TooLarge, or the driver's OutOfMemory.
  Result<Block*> take(std::uint64_t bytes);
  void give_back(Block* block);
  /// The block that holds this byte of the page, taken or free. Slow: walks the page.
  Block* at(driver::PageId page, std::uint64_t offset);
  /// Frees wholly free pages of which `idle(record)` says that no operation is outstanding.
  /// Returns the bytes freed.
  template <class Idle>
  std::uint64_t trim(Idle&& idle) {
    std::uint64_t freed = 0;
    for (std::size_t i = 0; i < pages_.size();) {
      Block* first = pages_[i].first;
      if (first->free && first->after == nullptr && idle(first->record)) {
        freed += first->bytes;
        drop_page(i);
      } else {
        ++i;
      }
    }
    return freed;
  }

  const PoolUsage& usage() const noexcept { return usage_; }

 private:
  struct Page {
    driver::PageId id;
    Block* first;
  };
  static constexpr int levels = 48, parts = 8;
  static int list_of(std::uint64_t bytes, std::uint64_t unit, bool round_up);
  Block* new_block();
  void link(Block* block);
  void unlink(Block* block);
  Block* find(std::uint64_t bytes);
  void drop_page(std::size_t index);

  driver::Driver& driver_;
  std::uint64_t page_bytes_;
  std::uint64_t alignment_;
  std::vector<Page> pages_;
  std::array<Block*, levels * parts> lists_{};
  std::array<std::uint64_t, levels * parts / 64> filled_{};
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Block*> spare_;
  PoolUsage usage_;
};

}  // namespace single_pool

}  // namespace tessera::server
