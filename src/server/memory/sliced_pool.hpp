// SPDX-License-Identifier: MIT OR Apache-2.0
// Pages of one size, divided into blocks of whatever sizes are asked for.
//
// Free blocks lie in lists by size; taking splits, giving back joins with free neighbours (boundary
// tags). A program in a loop gives back what it soon asks for again, so a block given back rests
// first: it keeps its size and its record, one block for each of 64 groups of sizes, until another
// one of its group comes back or the pool would grow. Thus the common case neither splits nor
// joins, and no rest ever costs a page.
#pragma once

#include <array>

#include "server/memory/free_lists.hpp"
#include "server/memory/paged_pool.hpp"

namespace tessera::server {

class SlicedPool final : public PagedPool {
 public:
  struct Config {
    std::uint64_t page_bytes = 0;     // a multiple of the alignment
    std::uint64_t max_slice = 0;      // at most page_bytes
    std::uint64_t max_pages = 0;      // 0: no capacity
    std::uint64_t release_every = 0;  // takes after which empty pages go; 0: never by themselves
  };
  SlicedPool(PageStore& store, std::uint64_t alignment, Config config, Footprint* outer = nullptr);

  Result<Block*> take(std::uint64_t bytes, Mapping mapping) override;
  /// The two halves of take(): from the pages that there are, null where none has room; and from
  /// another page.
  Result<Block*> reuse(std::uint64_t bytes, Mapping mapping);
  Result<Block*> grow(std::uint64_t bytes, Mapping mapping);
  void give_back(Block* block) override;
  std::uint64_t release_free() override;
  void drain() override;
  PoolReport report() const override;
  std::uint64_t capacity() const noexcept override {
    return config_.max_pages * config_.page_bytes;
  }
  std::uint64_t page_bytes() const noexcept { return config_.page_bytes; }

 private:
  static constexpr std::size_t groups = 64;
  std::size_t group_of(std::uint64_t bytes) const noexcept {
    const std::uint64_t units = bytes >> shift_;
    return (units ^ (units >> 6) ^ (units >> 12)) % groups;
  }
  Result<Block*> hand_out(Block* block, std::uint64_t bytes, std::uint64_t need);
  Block* join(Block* block);
  void wake_all();

  const Config config_;
  const int shift_;
  bool draining_ = false;
  FreeLists free_;
  std::array<Block*, groups> resting_{};
  std::size_t resting_count_ = 0;
  PageList unused_;  // pages of which nothing is taken
  std::uint64_t takes_ = 0;
};

}  // namespace tessera::server
