// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/memory/adaptive_pool.hpp"

#include <random>

#include "server/memory/memory_testing.hpp"

namespace tessera::server {
namespace {

using namespace testing;

struct Fixture {
  explicit Fixture(std::uint64_t memory = 256 * mib, std::uint64_t page_limit = 0,
                   std::uint64_t first_page = 2 * mib)
      : driver(sim(memory)),
        store(*driver),
        pool(store, 64, page_limit == 0 ? memory : page_limit, first_page) {}
  Block* take(std::uint64_t bytes, Mapping mapping = Mapping::lazy) {
    return pool.take(bytes, mapping).value();
  }
  void give_back(Block* block) { block->page->pool->give_back(block); }
  std::unique_ptr<driver::Driver> driver;
  PageStore store;
  AdaptivePool pool;
};

TEST(AdaptivePool, SmallSlicesHavePagesOfTheirOwn) {
  Fixture f;
  Block* small = f.take(64 * kib);
  EXPECT_EQ(small->page->bytes, 8 * mib);
  Block* large = f.take(64 * kib + 1);
  EXPECT_EQ(large->page->bytes, 2 * mib);
  EXPECT_EQ(f.take(1)->page, small->page);
  EXPECT_EQ(f.take(mib)->page, large->page);
}

TEST(AdaptivePool, PagesGrowWithTheRequests) {
  Fixture f;
  Block* a = f.take(mib);
  Block* b = f.take(2 * mib);  // a whole page of the size that there is
  EXPECT_EQ(b->page->bytes, 2 * mib);
  Block* c = f.take(2 * mib + 1);
  EXPECT_EQ(c->page->bytes, 4 * mib);  // 3 MiB and a byte, rounded up
  Block* d = f.take(mib);
  EXPECT_EQ(d->page, c->page);  // the newest pages alone serve requests
  Block* e = f.take(10 * mib);
  EXPECT_EQ(e->page->bytes, 11 * mib);
  // Earlier pages go as they become empty.
  EXPECT_EQ(f.store.reserved(), 19 * mib);
  f.give_back(b);
  EXPECT_EQ(f.store.reserved(), 17 * mib);
  f.give_back(a);
  EXPECT_EQ(f.store.reserved(), 15 * mib);
  f.give_back(c);
  EXPECT_EQ(f.store.reserved(), 15 * mib);
  f.give_back(d);
  EXPECT_EQ(f.store.reserved(), 11 * mib);
  f.give_back(e);
  EXPECT_EQ(f.store.reserved(), 11 * mib);
  EXPECT_TRUE(f.pool.empty());
  EXPECT_EQ(f.pool.release_free(), 11 * mib);
}

TEST(AdaptivePool, TheFirstPageMayBeLarger) {
  Fixture f(256 * mib, 0, 32 * mib);
  EXPECT_EQ(f.take(mib)->page->bytes, 32 * mib);
}

TEST(AdaptivePool, PagesStayWithinTheDevicesLimit) {
  Fixture f(256 * mib, mib);
  EXPECT_EQ(f.take(64)->page->bytes, mib / 8);  // a small page is not much of a small device
  EXPECT_EQ(f.take(100 * kib)->page->bytes, mib);
  EXPECT_EQ(f.take(mib)->page->bytes, mib);
  EXPECT_FALSE(f.pool.accepts(mib + 1));
  Fixture tiny(256 * mib, 32 * kib);
  EXPECT_EQ(tiny.take(32 * kib)->page->bytes, 32 * kib);
  Fixture odd(256 * mib, 10 * mib + 64);
  EXPECT_EQ(odd.take(10 * mib)->page->bytes, 10 * mib + 64);
}

TEST(AdaptivePool, AGrowthThatTheDeviceRefusesChangesNothing) {
  Fixture f(32 * mib);
  Block* a = f.take(mib, Mapping::eager);
  const driver::PageId other = f.driver->allocate(driver::PageKind::device, 28 * mib).value();
  const Result<Block*> refused = f.pool.take(6 * mib, Mapping::eager);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::OutOfMemory);
  EXPECT_EQ(f.take(mib, Mapping::eager)->page, a->page);
  EXPECT_EQ(f.pool.report().reserved, 2 * mib);
  f.driver->free(other);
  EXPECT_EQ(f.take(6 * mib, Mapping::eager)->page->bytes, 7 * mib);
}

TEST(AdaptivePool, BeyondSixtyFourLivePageSizesRequestsStandAlone) {
  Fixture f(64 * gib);
  std::vector<Block*> held;
  for (std::uint64_t i = 0; i < 64; ++i) {
    held.push_back(f.take((2 * i + 1) * mib));
    EXPECT_EQ(held.back()->page->bytes, (2 * i + 2) * mib);
  }
  Block* alone = f.take(200 * mib);
  EXPECT_EQ(alone->page->bytes, 200 * mib);
  EXPECT_EQ(f.take(mib)->page, held.back()->page);
  EXPECT_EQ(f.pool.report().live, 66u);
  // Once one of them is gone there may be a new one.
  f.give_back(held[10]);
  EXPECT_EQ(f.take(200 * mib)->page->bytes, 201 * mib);
  f.give_back(alone);
}

// One large buffer must not keep every later small one from a device that has room for it.
TEST(AdaptivePool, WhereAPageOfTheUsualSizeDoesNotFitRequestsStandAlone) {
  Fixture f(64 * mib);
  f.take(40 * mib, Mapping::eager);
  Block* a = f.take(4 * mib, Mapping::eager);
  EXPECT_EQ(a->page->bytes, 4 * mib);
  Block* small = f.take(100, Mapping::eager);
  EXPECT_EQ(small->page->bytes, 8 * mib);
  Block* c = f.take(3 * mib, Mapping::eager);
  f.give_back(a);
  EXPECT_EQ(f.take(4 * mib, Mapping::eager), a);
  f.give_back(c);
  EXPECT_EQ(f.pool.release_free(), 3 * mib);
}

TEST(AdaptivePool, ReportCountsAllItsPages) {
  Fixture f;
  std::mt19937 random(5);
  std::vector<Block*> held;
  for (int i = 0; i < 3000; ++i) {
    held.push_back(f.take(1 + random() % (i % 10 == 0 ? 3 * mib : 100 * kib)));
    while (held.size() > 30) {
      const std::size_t k = random() % held.size();
      f.give_back(held[k]);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(k));
    }
  }
  PoolReport report = f.pool.report();
  std::uint64_t bytes = 0, padding = 0, seen = 0;
  for (const Block* block : held) {
    bytes += block->requested;
    padding += block->bytes - block->requested;
  }
  f.pool.for_each_taken([&](Block& block) {
    check_cover(*block.page);
    ++seen;
  });
  EXPECT_EQ(seen, held.size());
  EXPECT_EQ(report.live, held.size());
  EXPECT_EQ(report.bytes, bytes);
  EXPECT_EQ(report.padding, padding);
  EXPECT_EQ(report.reserved, f.store.reserved());
  EXPECT_EQ(report.peak, f.store.peak());
  EXPECT_EQ(report.unmapped, f.store.unmapped());
  f.pool.drain();
  for (Block* block : held) f.give_back(block);
  report = f.pool.report();
  EXPECT_TRUE(f.pool.empty());
  EXPECT_EQ(report.reserved + report.pages + report.unmapped + f.store.reserved(), 0u);
}

TEST(AdaptivePool, PlacementDependsOnRequestsAlone) {
  std::vector<std::tuple<std::uint64_t, std::size_t, std::uint64_t>> places[2];
  for (int run = 0; run < 2; ++run) {
    Fixture f;
    std::mt19937 random(8);
    std::vector<Block*> held;
    Point last;
    for (int i = 0; i < 800; ++i) {
      held.push_back(f.take(1 + random() % (i % 10 == 0 ? mib : 100 * kib), Mapping::eager));
      const Block* block = held.back();
      places[run].emplace_back(block->page->bytes, block->page->index, block->offset);
      last = write(*f.driver, *held.back());
      if (run == 1) {
        finish(*f.driver, last);
        f.store.collect();
      }
      while (held.size() > 10) {
        const std::size_t k = random() % held.size();
        f.give_back(held[k]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(k));
      }
    }
    finish(*f.driver, last);
  }
  EXPECT_EQ(places[0], places[1]);
}

}  // namespace
}  // namespace tessera::server
