// SPDX-License-Identifier: MIT OR Apache-2.0
// Pages that each hold one buffer: for devices where two buffers of a page stand in each other's
// way, and for buffers so large that dividing pages gains nothing.
//
// A page is as large as the request that it was made for and no larger: an estimate from earlier
// requests would make a first large buffer reserve several times what it needs. Pages that nobody
// takes for a while go; what counts as a while is a number of requests, so that the same requests
// meet the same pages whatever the device does.
#pragma once

#include "server/memory/free_lists.hpp"
#include "server/memory/paged_pool.hpp"

namespace tessera::server {

class ExclusivePool final : public PagedPool {
 public:
  static constexpr std::uint32_t oldest = 5;  // steps after which an unused page goes

  /// `release_every`: requests in which an unused page grows old; 0: 5000, for pages of a GiB and
  /// more times their GiB.
  ExclusivePool(PageStore& store, std::uint64_t alignment, std::uint64_t max_bytes,
                std::uint64_t release_every, Footprint* outer = nullptr);

  Result<Block*> take(std::uint64_t bytes, Mapping mapping) override;
  void give_back(Block* block) override;
  std::uint64_t release_free() override;
  void drain() override;
  PoolReport report() const override;

 private:
  Block* choose(std::uint64_t need) const noexcept;
  void retire(Page* page);
  void count_request();

  const std::uint64_t max_bytes_;
  const std::uint64_t step_;  // requests
  bool draining_ = false;
  FreeLists free_;
  PageList unused_;  // longest unused first; Page::age is the step in which it became so
  std::uint64_t requests_ = 0;
  std::uint32_t now_ = 0;  // steps so far
};

}  // namespace tessera::server
