// SPDX-License-Identifier: MIT OR Apache-2.0
// Everything that can be wrong with a layout is found here, before a pool exists, so that pools
// need not doubt their sizes.
#include "server/memory/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "server/memory/adaptive_pool.hpp"
#include "server/memory/direct_pool.hpp"
#include "server/memory/exclusive_pool.hpp"
#include "server/memory/sliced_pool.hpp"

namespace tessera::server {
namespace {

constexpr std::uint64_t kib = 1024, mib = 1024 * kib;
constexpr std::size_t most_pools = 254;
constexpr std::uint64_t most_pages = 65535;

// Largest multiple of the alignment that a page may have.
std::uint64_t page_limit(const DeviceLimits& limits) {
  return limits.page_limit & ~(limits.alignment - 1);
}

std::uint64_t round_up(std::uint64_t bytes, const DeviceLimits& limits) {
  return (bytes + limits.alignment - 1) & ~(limits.alignment - 1);
}

// Pages of a quarter, a sixteenth … of the largest down to some 8 MiB; the smaller the pages, the
// smaller the part of a page that a slice may be. The largest requests get pages of their own: one
// of them must not claim the device's largest page to leave most of it to nobody.
std::vector<PoolSpec> sub_slices(const DeviceLimits& limits) {
  const std::uint64_t limit = page_limit(limits);
  std::vector<PoolSpec> pools;
  int halvings = 1;
  for (std::uint64_t last = limit; last >= 32 * mib; ++halvings) {
    const std::uint64_t page = round_up(last / 4, limits);
    tessera::SlicedPool pool;
    pool.page_bytes = page;
    pool.max_slice = std::max(limits.alignment, round_up(page >> halvings, limits));
    pools.push_back(pool);
    last = page;
  }
  std::reverse(pools.begin(), pools.end());
  pools.push_back(tessera::ExclusivePool{limit, 0});
  return pools;
}

// 24 sizes from 32 KiB to the largest page, each larger than the last by the same factor.
std::vector<PoolSpec> exclusive_pages(const DeviceLimits& limits) {
  constexpr int classes = 24;
  const std::uint64_t limit = page_limit(limits);
  std::vector<PoolSpec> pools;
  std::uint64_t last = 0;
  for (int i = 0; i + 1 < classes; ++i) {
    const double factor = std::log2(static_cast<double>(limit) / (32.0 * kib)) / (classes - 1);
    const std::uint64_t size =
        round_up(static_cast<std::uint64_t>(32.0 * kib * std::exp2(factor * i)), limits);
    if (size <= last) continue;  // the device's pages are smaller than the first sizes
    if (size >= limit) break;
    pools.push_back(tessera::ExclusivePool{size, 0});
    last = size;
  }
  pools.push_back(tessera::ExclusivePool{limit, 0});
  return pools;
}

// Spells one pool of a custom layout out, or says what is wrong with it.
class Check {
 public:
  Check(std::size_t position, const DeviceLimits& limits) : position_(position), limits_(limits) {}

  Result<PoolSpec> operator()(tessera::SlicedPool pool) const {
    if (pool.page_bytes == 0) return refuse("has pages of 0 bytes. Give page_bytes a size.");
    if (pool.page_bytes > page_limit(limits_)) {
      return over_limit("pages of", "page_bytes", pool.page_bytes);
    }
    if (pool.max_slice > pool.page_bytes) {
      return refuse(fmt::format(
          "has slices of up to {} bytes, more than its pages of {} bytes. Lower max_slice.",
          pool.max_slice, pool.page_bytes));
    }
    if (pool.capacity != 0 && pool.capacity < pool.page_bytes) {
      return refuse(
          fmt::format("has a capacity of {} bytes, less than one page of {} bytes. Raise capacity.",
                      pool.capacity, pool.page_bytes));
    }
    pool.page_bytes = round_up(pool.page_bytes, limits_);
    if (pool.capacity / pool.page_bytes > most_pages) {
      return refuse(fmt::format(
          "has a capacity of {} bytes, which is {} pages of {} bytes; the most is {}. Make its "
          "pages larger.",
          pool.capacity, pool.capacity / pool.page_bytes, pool.page_bytes, most_pages));
    }
    pool.max_slice = pool.max_slice == 0 ? pool.page_bytes : round_up(pool.max_slice, limits_);
    // A capacity of one page before rounding is one page after it.
    if (pool.capacity != 0)
      pool.capacity = std::max(pool.page_bytes, round_up(pool.capacity, limits_));
    return PoolSpec(pool);
  }
  Result<PoolSpec> operator()(tessera::ExclusivePool pool) const {
    if (pool.max_bytes > page_limit(limits_)) {
      return over_limit("pages of up to", "max_bytes", pool.max_bytes);
    }
    pool.max_bytes = pool.max_bytes == 0 ? page_limit(limits_) : round_up(pool.max_bytes, limits_);
    return PoolSpec(pool);
  }
  Result<PoolSpec> operator()(tessera::DirectPool pool) const { return PoolSpec(pool); }
  Result<PoolSpec> operator()(tessera::AdaptivePool pool) const {
    if (pool.first_page > page_limit(limits_)) {
      return over_limit("first pages of", "first_page", pool.first_page);
    }
    pool.first_page = pool.first_page == 0 ? std::min(2 * mib, page_limit(limits_))
                                           : round_up(pool.first_page, limits_);
    return PoolSpec(pool);
  }

 private:
  Error refuse(std::string_view what) const {
    return Error(ErrorKind::InvalidArgument,
                 fmt::format("Pool {} of the memory layout {}", position_, what));
  }
  Error over_limit(std::string_view pages, std::string_view field, std::uint64_t bytes) const {
    return refuse(
        fmt::format("has {} {} bytes, more than the {} bytes that a page of the device "
                    "can have. Lower {}.",
                    pages, bytes, page_limit(limits_), field));
  }
  std::size_t position_;
  const DeviceLimits& limits_;
};

}  // namespace

Result<std::vector<PoolSpec>> resolve(const MemoryLayout& layout, const DeviceLimits& limits) {
  switch (layout.preset) {
    case MemoryLayout::Preset::adaptive:
      return std::vector<PoolSpec>{tessera::AdaptivePool{std::min(2 * mib, page_limit(limits))}};
    case MemoryLayout::Preset::sub_slices:
      return sub_slices(limits);
    case MemoryLayout::Preset::exclusive_pages:
      return exclusive_pages(limits);
    case MemoryLayout::Preset::custom:
      break;
  }
  if (layout.pools.empty()) {
    return Error(ErrorKind::InvalidArgument,
                 "The memory layout has 0 pools; it needs at least one to serve a request.");
  }
  if (layout.pools.size() > most_pools) {
    return Error(ErrorKind::InvalidArgument,
                 fmt::format("The memory layout has {} pools; the most is {}.", layout.pools.size(),
                             most_pools));
  }
  std::vector<PoolSpec> pools;
  pools.reserve(layout.pools.size());
  for (const PoolSpec& spec : layout.pools) {
    Result<PoolSpec> checked = std::visit(Check(pools.size(), limits), spec);
    if (!checked) return checked.error();
    pools.push_back(*std::move(checked));
  }
  return pools;
}

std::vector<std::unique_ptr<Pool>> make_pools(const std::vector<PoolSpec>& specs, PageStore& store,
                                              const DeviceLimits& limits) {
  struct Make {
    std::unique_ptr<Pool> operator()(const tessera::SlicedPool& s) const {
      return std::make_unique<SlicedPool>(
          store, alignment,
          SlicedPool::Config{s.page_bytes, s.max_slice, s.capacity / s.page_bytes,
                             s.release_every});
    }
    std::unique_ptr<Pool> operator()(const tessera::ExclusivePool& e) const {
      return std::make_unique<ExclusivePool>(store, alignment, e.max_bytes, e.release_every);
    }
    std::unique_ptr<Pool> operator()(const tessera::DirectPool& d) const {
      return std::make_unique<DirectPool>(store, alignment, limit, d.reclaim_at);
    }
    std::unique_ptr<Pool> operator()(const tessera::AdaptivePool& a) const {
      return std::make_unique<AdaptivePool>(store, alignment, limit, a.first_page);
    }
    PageStore& store;
    std::uint64_t alignment, limit;
  };
  std::vector<std::unique_ptr<Pool>> pools;
  pools.reserve(specs.size());
  for (const PoolSpec& spec : specs) {
    pools.push_back(std::visit(Make{store, limits.alignment, page_limit(limits)}, spec));
  }
  return pools;
}

}  // namespace tessera::server
