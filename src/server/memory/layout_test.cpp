// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/memory/layout.hpp"

#include "server/memory/memory_testing.hpp"

namespace tessera::server {
namespace {

using namespace testing;
using Sliced = tessera::SlicedPool;
using Exclusive = tessera::ExclusivePool;
using Direct = tessera::DirectPool;
using Adaptive = tessera::AdaptivePool;

std::vector<PoolSpec> pools_of(const MemoryLayout& layout, std::uint64_t page_limit,
                               std::uint64_t alignment = 64) {
  return resolve(layout, {alignment, page_limit}).value();
}

/// The ladder as page and slice sizes; the exclusive pool at its end is checked and left out.
std::vector<std::pair<std::uint64_t, std::uint64_t>> ladder(std::uint64_t page_limit) {
  const std::vector<PoolSpec> pools = pools_of(MemoryLayout::sub_slices(), page_limit, 256);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> sizes;
  for (std::size_t i = 0; i + 1 < pools.size(); ++i) {
    const Sliced& pool = std::get<Sliced>(pools[i]);
    EXPECT_EQ(pool.capacity, 0u);
    sizes.emplace_back(pool.page_bytes, pool.max_slice);
  }
  EXPECT_EQ(std::get<Exclusive>(pools.back()).max_bytes, page_limit);
  return sizes;
}

TEST(Layout, SubSlicesOfADeviceWithPagesOf128MiB) {
  using Sizes = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  EXPECT_EQ(ladder(128 * mib), (Sizes{{8 * mib, 2 * mib}, {32 * mib, 16 * mib}}));
}

TEST(Layout, SubSlicesOfADeviceWithPagesOf6GiB) {
  using Sizes = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  EXPECT_EQ(ladder(6 * gib), (Sizes{{24 * mib, 24 * mib / 16},
                                    {96 * mib, 12 * mib},
                                    {384 * mib, 96 * mib},
                                    {1536 * mib, 768 * mib}}));
}

TEST(Layout, SubSlicesOfADeviceWithPagesOf33616MiB) {
  const auto sizes = ladder(33616 * mib);
  const double expected[][2] = {{8.2, 0.13}, {32.8, 1.03}, {131, 8.2},
                                {525, 65.7}, {2101, 525},  {8404, 4202}};
  ASSERT_EQ(sizes.size(), std::size(expected));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(sizes[i].first) / mib, expected[i][0], expected[i][0] / 100);
    EXPECT_NEAR(static_cast<double>(sizes[i].second) / mib, expected[i][1], expected[i][1] / 50);
    EXPECT_EQ(sizes[i].first % 256 + sizes[i].second % 256, 0u);
  }
}

TEST(Layout, SubSlicesOfASmallDeviceAreExclusivePages) {
  EXPECT_TRUE(ladder(16 * mib).empty());
}

TEST(Layout, ExclusivePagesHave24Sizes) {
  const std::vector<PoolSpec> pools = pools_of(MemoryLayout::exclusive_pages(), 2 * gib);
  ASSERT_EQ(pools.size(), 24u);
  std::uint64_t last = 0;
  for (const PoolSpec& pool : pools) {
    const Exclusive& e = std::get<Exclusive>(pool);
    EXPECT_GT(e.max_bytes, last);
    EXPECT_EQ(e.max_bytes % 64, 0u);
    EXPECT_EQ(e.release_every, 0u);
    if (last != 0) {
      EXPECT_NEAR(static_cast<double>(e.max_bytes) / static_cast<double>(last), 1.62, 0.02);
    }
    last = e.max_bytes;
  }
  EXPECT_EQ(std::get<Exclusive>(pools.front()).max_bytes, 32 * kib);
  EXPECT_EQ(last, 2 * gib);
  // A device whose pages are smaller than the first size.
  EXPECT_EQ(pools_of(MemoryLayout::exclusive_pages(), 16 * kib).size(), 1u);
}

TEST(Layout, AdaptiveIsOnePool) {
  const auto pools = pools_of(MemoryLayout::adaptive(), gib);
  ASSERT_EQ(pools.size(), 1u);
  EXPECT_EQ(std::get<Adaptive>(pools[0]).first_page, 2 * mib);
  EXPECT_EQ(std::get<Adaptive>(pools_of(MemoryLayout(), mib)[0]).first_page, mib);
}

TEST(Layout, SizesAreRoundedUpAndDefaultsSpelledOut) {
  const auto pools = pools_of(
      MemoryLayout::custom({Sliced{1000, 100, 5000, 7}, Sliced{1000, 0, 1010, 0}, Exclusive{},
                            Exclusive{1001, 9}, Direct{12345}, Adaptive{}, Adaptive{mib + 1}}),
      gib, 256);
  const Sliced& sliced = std::get<Sliced>(pools[0]);
  EXPECT_EQ(sliced.page_bytes, 1024u);
  EXPECT_EQ(sliced.max_slice, 256u);
  EXPECT_EQ(sliced.capacity, 5120u);
  EXPECT_EQ(sliced.release_every, 7u);
  EXPECT_EQ(std::get<Sliced>(pools[1]).max_slice, 1024u);
  EXPECT_EQ(std::get<Sliced>(pools[1]).capacity, 1024u);
  EXPECT_EQ(std::get<Exclusive>(pools[2]).max_bytes, gib);
  EXPECT_EQ(std::get<Exclusive>(pools[3]).max_bytes, 1024u);
  EXPECT_EQ(std::get<Exclusive>(pools[3]).release_every, 9u);
  EXPECT_EQ(std::get<Direct>(pools[4]).reclaim_at, 12345u);
  EXPECT_EQ(std::get<Adaptive>(pools[5]).first_page, 2 * mib);
  EXPECT_EQ(std::get<Adaptive>(pools[6]).first_page, mib + 256);
}

TEST(Layout, MakesAPoolOfEachKind) {
  auto driver = sim();
  PageStore store(*driver);
  const DeviceLimits limits{64, 16 * mib};
  const auto specs = pools_of(MemoryLayout::custom({Sliced{mib, kib, 2 * mib, 0},
                                                    Exclusive{2 * kib, 0}, Adaptive{}, Direct{}}),
                              16 * mib);
  const auto pools = make_pools(specs, store, limits);
  ASSERT_EQ(pools.size(), 4u);
  EXPECT_EQ(pools[0]->capacity(), 2 * mib);
  EXPECT_EQ(pools[0]->largest(), kib);
  EXPECT_EQ(pools[1]->largest(), 2 * kib);
  EXPECT_EQ(pools[2]->largest(), 16 * mib);
  EXPECT_EQ(pools[3]->largest(), 16 * mib);
  const char* kinds[] = {"sliced", "exclusive", "adaptive", "direct"};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(pools[i]->report().kind.rfind(kinds[i], 0), 0u) << pools[i]->report().kind;
  }
}

void expect_refused(std::vector<PoolSpec> pools, const std::string& sentence) {
  const auto refused = resolve(MemoryLayout::custom(std::move(pools)), {64, 16 * mib});
  ASSERT_FALSE(refused) << sentence;
  EXPECT_EQ(refused.error().kind(), ErrorKind::InvalidArgument);
  EXPECT_EQ(refused.error().message(), sentence);
}

TEST(Layout, NoPools) {
  expect_refused({}, "The memory layout has 0 pools; it needs at least one to serve a request.");
}

TEST(Layout, TooManyPools) {
  EXPECT_TRUE(resolve(MemoryLayout::custom(std::vector<PoolSpec>(254, Direct{})), {64, mib}));
  expect_refused(std::vector<PoolSpec>(255, Direct{}),
                 "The memory layout has 255 pools; the most is 254.");
}

TEST(Layout, APageOfNoBytes) {
  expect_refused({Direct{}, Sliced{}},
                 "Pool 1 of the memory layout has pages of 0 bytes. Give page_bytes a size.");
}

TEST(Layout, ASliceLargerThanItsPage) {
  expect_refused({Sliced{1000, 1001, 0, 0}},
                 "Pool 0 of the memory layout has slices of up to 1001 bytes, more than its pages "
                 "of 1000 bytes. Lower max_slice.");
}

TEST(Layout, ACapacitySmallerThanAPage) {
  expect_refused({Direct{}, Direct{}, Sliced{1000, 0, 999, 0}},
                 "Pool 2 of the memory layout has a capacity of 999 bytes, less than one page of "
                 "1000 bytes. Raise capacity.");
}

TEST(Layout, ACapacityOfTooManyPages) {
  EXPECT_TRUE(resolve(MemoryLayout::custom({Sliced{64, 0, 65535 * 64, 0}}), {64, mib}));
  expect_refused({Sliced{64, 0, 65536 * 64, 0}},
                 "Pool 0 of the memory layout has a capacity of 4194304 bytes, which is 65536 "
                 "pages of 64 bytes; the most is 65535. Make its pages larger.");
  EXPECT_FALSE(resolve(MemoryLayout::custom({Sliced{64, 0, ~std::uint64_t{0}, 0}}), {64, mib}));
}

TEST(Layout, APageOverTheDevicesLimit) {
  expect_refused({Sliced{16 * mib + 1, 0, 0, 0}},
                 "Pool 0 of the memory layout has pages of 16777217 bytes, more than the 16777216 "
                 "bytes that a page of the device can have. Lower page_bytes.");
  expect_refused({Direct{}, Exclusive{17 * mib, 0}},
                 "Pool 1 of the memory layout has pages of up to 17825792 bytes, more than the "
                 "16777216 bytes that a page of the device can have. Lower max_bytes.");
  expect_refused({Adaptive{~std::uint64_t{0}}},
                 "Pool 0 of the memory layout has first pages of 18446744073709551615 bytes, more "
                 "than the 16777216 bytes that a page of the device can have. Lower first_page.");
}

}  // namespace
}  // namespace tessera::server
