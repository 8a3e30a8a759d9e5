// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/memory/exclusive_pool.hpp"

#include <random>

#include "server/memory/memory_testing.hpp"

namespace tessera::server {
namespace {

using namespace testing;

struct Fixture {
  explicit Fixture(std::uint64_t max_bytes = 16 * mib, std::uint64_t release_every = 0,
                   std::uint64_t memory = 64 * mib)
      : driver(sim(memory)), store(*driver), pool(store, 64, max_bytes, release_every) {}
  Block* take(std::uint64_t bytes, Mapping mapping = Mapping::eager) {
    return pool.take(bytes, mapping).value();
  }
  /// Requests that no other page can serve, to let time pass.
  void pass(std::uint64_t requests) {
    for (std::uint64_t i = 0; i < requests; ++i) pool.give_back(take(64, Mapping::lazy));
  }
  std::unique_ptr<driver::Driver> driver;
  PageStore store;
  ExclusivePool pool;
};

// Also the first large one: what a page has follows from its request, not from an estimate.
TEST(ExclusivePool, APageIsExactlyAsLargeAsItsRequest) {
  Fixture f(16 * gib, 0, 64 * gib);
  EXPECT_EQ(f.take(5 * gib, Mapping::lazy)->page->bytes, 5 * gib);
  EXPECT_EQ(f.take(100, Mapping::lazy)->page->bytes, 128u);
  EXPECT_EQ(f.take(3 * gib + 1, Mapping::lazy)->page->bytes, 3 * gib + 64);
  const PoolReport report = f.pool.report();
  EXPECT_EQ(report.reserved, 8 * gib + 192);
  EXPECT_EQ(report.padding, 28u + 63u);
  EXPECT_EQ(report.largest_request, 5 * gib);
  EXPECT_TRUE(f.pool.accepts(16 * gib));
  EXPECT_FALSE(f.pool.accepts(16 * gib + 1));
}

TEST(ExclusivePool, ReusesAPageOfAtMostTwiceTheRequest) {
  Fixture f;
  Block* page = f.take(64 * kib);
  f.pool.give_back(page);
  EXPECT_NE(f.take(32 * kib - 64), page);
  Block* again = f.take(32 * kib);
  EXPECT_EQ(again, page);
  EXPECT_EQ(f.pool.report().padding, 32 * kib);
  f.pool.give_back(again);
  EXPECT_NE(f.take(64 * kib + 1), page);
  EXPECT_EQ(f.take(64 * kib), page);
}

TEST(ExclusivePool, TheLeastAgedPageWithRoomIsReused) {
  Fixture f(16 * mib, 50);  // a step is 10 requests
  Block* tight = f.take(100 * kib);
  Block* loose = f.take(150 * kib);
  f.pool.give_back(tight);
  f.pass(10);
  f.pool.give_back(loose);
  EXPECT_EQ(f.take(100 * kib), loose);
  f.pool.give_back(loose);
  // Of the same age: the tighter one.
  Block* other = f.take(160 * kib);
  f.pool.give_back(other);
  EXPECT_EQ(f.take(140 * kib), loose);
}

TEST(ExclusivePool, UnusedPagesGoAtAgeFive) {
  Fixture f(16 * mib, 50);
  f.pool.give_back(f.take(mib));  // the first request
  f.pass(48);
  EXPECT_GE(f.pool.report().reserved, mib);
  f.pass(1);
  EXPECT_LT(f.pool.report().reserved, mib);
  // A page that is used between never grows old.
  for (int i = 0; i < 20; ++i) {
    f.pass(20);
    Block* block = f.take(mib);
    EXPECT_EQ(f.pool.report().reserved, mib + 64);
    f.pool.give_back(block);
  }
}

TEST(ExclusivePool, TheOwnPeriodGrowsWithThePages) {
  for (const auto& [max_bytes, period] :
       {std::pair(16 * mib, 5000), std::pair(512 * mib, 10000), std::pair(2 * gib, 15000)}) {
    Fixture f(max_bytes, 0, 8 * gib);
    f.pool.give_back(f.take(mib, Mapping::lazy));
    f.pass(static_cast<std::uint64_t>(period) - 2);
    EXPECT_GE(f.pool.report().reserved, mib);
    f.pass(1);
    EXPECT_LT(f.pool.report().reserved, mib);
  }
}

TEST(ExclusivePool, PagesArePromisedLazilyToo) {
  Fixture f(16 * mib, 0, mib);
  Block* blocks[4];
  for (Block*& block : blocks) block = f.take(mib, Mapping::lazy);
  EXPECT_EQ(f.pool.report().unmapped, 4 * mib);
  f.pool.give_back(blocks[0]);
  EXPECT_EQ(blocks[0]->page->id, Page::unmapped);
  Block* eager = f.take(mib);
  EXPECT_EQ(eager, blocks[0]);
  EXPECT_NE(eager->page->id, Page::unmapped);
  EXPECT_EQ(f.pool.report().unmapped, 3 * mib);
  f.pool.give_back(blocks[1]);
  EXPECT_EQ(f.pool.take(mib, Mapping::eager).error().kind(), ErrorKind::OutOfMemory);
  EXPECT_EQ(f.pool.report().live, 3u);
  EXPECT_EQ(f.pool.release_free(), mib);
}

TEST(ExclusivePool, DrainingAndReleasing) {
  Fixture f;
  Block* a = f.take(mib);
  Block* b = f.take(2 * mib);
  f.pool.give_back(f.take(4 * mib));
  EXPECT_EQ(f.pool.release_free(), 4 * mib);
  f.pool.give_back(f.take(4 * mib));
  f.pool.drain();
  EXPECT_EQ(f.store.reserved(), 3 * mib);
  f.pool.give_back(a);
  f.pool.give_back(b);
  EXPECT_TRUE(f.pool.empty());
  EXPECT_EQ(f.store.reserved(), 0u);
}

TEST(ExclusivePool, PlacementDependsOnRequestsAlone) {
  std::vector<std::pair<std::size_t, std::uint64_t>> places[2];
  for (int run = 0; run < 2; ++run) {
    Fixture f(mib, 25);
    std::mt19937 random(4);
    std::vector<Block*> held;
    Point last;
    for (int i = 0; i < 1500; ++i) {
      held.push_back(f.take(1 + random() % 30000));
      const Block* block = held.back();
      ASSERT_LE(block->bytes, 2 * (block->requested + 63));
      places[run].emplace_back(block->page->index, block->bytes);
      last = write(*f.driver, *held.back());
      if (run == 1) {
        finish(*f.driver, last);
        f.store.collect();
      }
      while (held.size() > 12) {
        const std::size_t k = random() % held.size();
        f.pool.give_back(held[k]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(k));
      }
    }
    finish(*f.driver, last);
  }
  EXPECT_EQ(places[0], places[1]);
}

}  // namespace
}  // namespace tessera::server
