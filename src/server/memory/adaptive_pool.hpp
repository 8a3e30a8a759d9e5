// SPDX-License-Identifier: MIT OR Apache-2.0
// Small pages for small slices, which would otherwise break up large pages, and an arena of sliced
// pools for the rest: one for each page size that the requests grew through, of which the newest
// alone serves requests while the others drain.
//
// Two cases get a page of the exact size to themselves: when so many page sizes are alive that no
// further one may be, and when a page of the usual size would not fit into what the device has
// left. For the second, what counts is what pools have reserved, which depends on requests alone.
#pragma once

#include <memory>
#include <vector>

#include "server/memory/exclusive_pool.hpp"
#include "server/memory/sliced_pool.hpp"

namespace tessera::server {

class AdaptivePool final : public Pool {
 public:
  static constexpr std::uint64_t small_page = std::uint64_t{8}
                                              << 20;  // at most an eighth of the limit
  static constexpr std::uint64_t small_slice = std::uint64_t{64} << 10;
  static constexpr std::uint64_t growth = std::uint64_t{1} << 20;
  static constexpr std::size_t max_sizes = 64;  // of pages, alive at once

  /// `page_limit`: a multiple of the alignment. `first_page`: the least that arena pages have.
  AdaptivePool(PageStore& store, std::uint64_t alignment, std::uint64_t page_limit,
               std::uint64_t first_page);

  Result<Block*> take(std::uint64_t bytes, Mapping mapping) override;
  // Blocks belong to the pools within.
  void count_as_padding(Block& block, std::uint64_t bytes) override {
    block.page->pool->count_as_padding(block, bytes);
  }
  void give_back(Block* block) override;  // pages know the pool within, which the block goes to
  std::uint64_t release_free() override;
  void drain() override;
  PoolReport report() const override;
  bool empty() const noexcept override;
  void restart_peaks() override { footprint_.restart(); }
  void for_each_taken(const std::function<void(Block&)>& f) override;

 private:
  Result<Block*> take_from(SlicedPool& pool, std::uint64_t bytes, Mapping mapping);
  Result<Block*> grow(std::uint64_t bytes, Mapping mapping);
  template <class F>
  void for_each_pool(F&& f) const;

  const std::uint64_t page_limit_;
  const std::uint64_t first_page_;
  Footprint footprint_;
  std::uint64_t largest_ = 0;
  SlicedPool small_;
  std::vector<std::unique_ptr<SlicedPool>> arena_;  // oldest first; the last one serves requests
  ExclusivePool alone_;
};

}  // namespace tessera::server
