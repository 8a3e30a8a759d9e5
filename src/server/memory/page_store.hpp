// SPDX-License-Identifier: MIT OR Apache-2.0
// The pages of a device: where pools get them and where they go.
//
// A pool may give up a page at any moment that the order of requests decides; the device may still
// be working on it, and commands that wait for a compiler may still name it. Such a page is
// retired: no pool knows it any more, and its memory goes back to the driver once everything that
// its blocks' records name has completed and nobody holds it. So completion decides when memory
// returns and never where a buffer lies.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "server/memory/block.hpp"
#include "server/ordering/clocks.hpp"

namespace tessera::server {

/// Whether the page's memory is asked for now or when the page is first used.
enum class Mapping : std::uint8_t { eager, lazy };

class PageStore {
 public:
  explicit PageStore(driver::Driver& driver) : driver_(driver) {}
  ~PageStore();  // frees everything, unless abandoned; the device has stopped
  /// The device is lost and may still be at work: what it has is left to the driver's own end.
  void abandon() noexcept { abandoned_ = true; }
  PageStore(const PageStore&) = delete;
  PageStore& operator=(const PageStore&) = delete;

  /// Where the driver is out of memory, make() and map() collect and ask once more: a caller sees
  /// no difference between pages that came back earlier and pages that come back now.

  /// A page with one free block that covers it. OutOfMemory or TooLarge from the driver.
  Result<Page*> make(Pool* pool, std::uint64_t bytes, Mapping mapping);
  /// Gives a lazily made page its memory. The page stays unmapped where that fails.
  Status map(Page& page);
  /// Takes a page whose blocks are all free out of use. Until it is freed at() finds them.
  void retire(Page* page);
  /// Frees retired pages that nobody holds and whose work has completed; all that nobody holds
  /// where the device is `lost`, on which nothing completes any more. Returns their bytes.
  std::uint64_t collect(bool lost = false);
  /// The page is not freed before it was let go as often as it was held. Nothing for unknown pages.
  void hold(driver::PageId page);
  void let_go(driver::PageId page);
  /// Where a device has one queue, records are empty and its last operation stands for all.
  void watch(const Clocks& clocks) { clocks_ = &clocks; }

  Block* new_block();
  void recycle(Block* block);
  /// The block that holds this byte of the page, taken or free; null for an unknown page. Walks the
  /// page: for the rare caller whose block was given back.
  Block* at(driver::PageId page, std::uint64_t offset);

  std::uint64_t reserved() const noexcept { return reserved_; }  // without retiring
  std::uint64_t unmapped() const noexcept { return unmapped_; }
  std::uint64_t retiring() const noexcept { return retiring_; }
  std::uint64_t peak() const noexcept { return peak_; }
  void restart_peak() noexcept { peak_ = reserved_; }
  driver::Driver& driver() const noexcept { return driver_; }

 private:
  struct Retired {
    Page* page;
    PointSet outstanding;
  };
  Result<driver::PageId> allocate(std::uint64_t bytes);
  PointSet outstanding(const Page& page) const;
  void free(Page* page);

  driver::Driver& driver_;
  const Clocks* clocks_ = nullptr;
  std::unordered_map<driver::PageId, Page*> mapped_;
  std::vector<std::unique_ptr<Page>> pages_;
  std::vector<Page*> spare_pages_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Block*> spare_;
  std::vector<Retired> retired_;
  std::uint64_t reserved_ = 0, unmapped_ = 0, retiring_ = 0, peak_ = 0;
  bool abandoned_ = false;
};

}  // namespace tessera::server
