// SPDX-License-Identifier: MIT OR Apache-2.0
// A page of the exact size for every request, used again for that size alone. The size is that of
// the page, padding included, from its making to its end: what a later buffer asks for never
// changes where its page is filed.
//
// The same pool keeps persistent memory, whose buffers stay for long: weights above all. Sizes that
// never come again must not hold the device's memory for ever, so when unused pages have more bytes
// than used ones and a margin, those unused longest go.
#pragma once

#include <unordered_map>
#include <vector>

#include "server/memory/paged_pool.hpp"

namespace tessera::server {

class DirectPool final : public PagedPool {
 public:
  enum class Use : std::uint8_t { direct, persistent };
  static constexpr std::uint64_t margin = std::uint64_t{64} << 20;  // of persistent memory

  /// Above `reclaim_at` bytes (0: no such mark) unused pages go, in the order of their numbers,
  /// before a new one is made, until the new one fits under it. Served all the same where it
  /// does not.
  DirectPool(PageStore& store, std::uint64_t alignment, std::uint64_t max_bytes,
             std::uint64_t reclaim_at, Use use = Use::direct);

  Result<Block*> take(std::uint64_t bytes, Mapping mapping) override;
  void give_back(Block* block) override;
  std::uint64_t release_free() override;
  void drain() override;
  PoolReport report() const override;

 private:
  struct Size {
    Block* unused = nullptr;  // a list, last given back first
    std::uint64_t pages = 0;
  };
  void file(Block* block);
  void unfile(Block* block, Size& size);
  void retire(Page* page);
  void reclaim(std::uint64_t coming);

  const std::uint64_t reclaim_at_;
  const Use use_;
  bool draining_ = false;
  std::unordered_map<std::uint64_t, Size> sizes_;  // every size that a page has
  PageList unused_;                                // longest unused first
  std::uint64_t unused_bytes_ = 0;
  std::vector<std::uint64_t> unused_numbers_;  // a bit for each Page::index
};

}  // namespace tessera::server
