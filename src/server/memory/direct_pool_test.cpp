// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/memory/direct_pool.hpp"

#include <random>

#include "server/memory/memory_testing.hpp"

namespace tessera::server {
namespace {

using namespace testing;

struct Fixture {
  explicit Fixture(std::uint64_t reclaim_at = 0, DirectPool::Use use = DirectPool::Use::direct,
                   std::uint64_t memory = 64 * mib)
      : driver(sim(memory)), store(*driver), pool(store, 64, memory, reclaim_at, use) {}
  Block* take(std::uint64_t bytes, Mapping mapping = Mapping::eager) {
    return pool.take(bytes, mapping).value();
  }
  std::unique_ptr<driver::Driver> driver;
  PageStore store;
  DirectPool pool;
};

// A page is filed by its own size whatever its last buffer asked for.
TEST(DirectPool, PagesAreReusedForTheirPaddedSizeAlone) {
  for (const auto use : {DirectPool::Use::direct, DirectPool::Use::persistent}) {
    Fixture f(0, use);
    Block* page = f.take(120);
    EXPECT_EQ(page->bytes, 128u);
    EXPECT_EQ(f.pool.report().padding, 8u);
    f.pool.give_back(page);
    EXPECT_EQ(f.take(65), page);
    EXPECT_EQ(page->bytes, 128u);
    EXPECT_EQ(f.pool.report().bytes, 65u);
    EXPECT_EQ(f.pool.report().padding, 63u);
    f.pool.give_back(page);
    EXPECT_NE(f.take(64), page);
    EXPECT_NE(f.take(129), page);
    EXPECT_EQ(f.take(128), page);
    f.pool.give_back(page);
    EXPECT_EQ(f.pool.release_free(), 128u);
    EXPECT_EQ(f.pool.report().reserved, 64u + 192u);
    EXPECT_EQ(f.take(100)->bytes, 128u);
  }
}

TEST(DirectPool, AboveTheMarkUnusedPagesGoInTheOrderOfTheirNumbers) {
  Fixture f(4 * mib);
  Block* pages[4];
  for (std::uint64_t i = 0; i < 4; ++i) pages[i] = f.take(mib - 64 * i);
  f.pool.give_back(pages[2]);
  f.pool.give_back(pages[1]);
  f.pool.give_back(pages[3]);
  EXPECT_EQ(f.pool.report().pages, 4u);  // nothing goes before something is needed
  f.take(512 * kib);
  EXPECT_EQ(f.pool.report().pages, 4u);
  EXPECT_EQ(f.take(mib - 128), pages[2]);  // number 1 went, though 2 was given back before it
  EXPECT_EQ(f.take(mib - 192), pages[3]);
  // Nothing is left to reclaim: served all the same.
  f.take(3 * mib);
  EXPECT_GT(f.pool.report().reserved, 4 * mib);
}

TEST(DirectPool, ReclaimingStopsWhereTheNewPageFits) {
  Fixture f(8 * mib);
  std::vector<Block*> held;
  for (std::uint64_t i = 0; i < 100; ++i) held.push_back(f.take(64 * kib + 64 * i));
  for (Block* block : held) f.pool.give_back(block);
  const std::uint64_t before = f.pool.report().reserved;
  f.take(2 * mib);
  const std::uint64_t after = f.pool.report().reserved;
  EXPECT_LE(after, 8 * mib);
  EXPECT_GT(after, 8 * mib - 128 * kib);
  EXPECT_LT(after, before + 2 * mib);
  EXPECT_EQ(f.take(64 * kib + 64 * 99), held[99]);
}

TEST(DirectPool, WithoutAMarkPagesStay) {
  Fixture f;
  for (std::uint64_t i = 1; i <= 50; ++i) f.pool.give_back(f.take(16 * kib * i));
  EXPECT_EQ(f.pool.report().pages, 50u);
}

// Sizes that never come again do not hold the device's memory: beyond what is used and a margin,
// the pages unused longest go.
TEST(DirectPool, PersistentMemoryLetsTheOldestUnusedPagesGo) {
  Fixture f(0, DirectPool::Use::persistent, gib);
  Block* weights = f.take(17 * mib, Mapping::lazy);
  std::vector<Block*> held;
  for (std::uint64_t i = 0; i < 10; ++i) held.push_back(f.take(10 * mib + 64 * i, Mapping::lazy));
  f.pool.give_back(held[4]);
  f.pool.give_back(held[1]);
  for (const std::size_t i : {0, 2, 3}) f.pool.give_back(held[i]);
  EXPECT_EQ(f.pool.report().pages, 11u);
  for (const std::size_t i : {5, 6}) f.pool.give_back(held[i]);
  EXPECT_EQ(f.pool.report().pages, 11u);  // 70 MiB unused, 47 MiB used
  f.pool.give_back(held[7]);
  f.pool.give_back(held[8]);  // 90 unused, 27 used: no more than the margin over it
  EXPECT_EQ(f.pool.report().pages, 11u);
  f.pool.give_back(held[9]);             // 100 unused, 17 used
  EXPECT_EQ(f.pool.report().pages, 9u);  // 81 is as much as there may be
  EXPECT_NE(f.take(10 * mib + 256, Mapping::lazy), nullptr);
  EXPECT_EQ(f.pool.report().pages, 10u);  // number 4 had gone
  EXPECT_EQ(f.take(10 * mib + 128, Mapping::lazy), held[2]);
  EXPECT_EQ(f.pool.report().pages, 10u);
  EXPECT_GT(f.pool.release_free(), 60 * mib);
  EXPECT_FALSE(weights->free);
  EXPECT_EQ(f.pool.report().pages, 3u);
}

TEST(DirectPool, PagesArePromisedLazily) {
  Fixture f(0, DirectPool::Use::direct, mib);
  Block* a = f.take(mib, Mapping::lazy);
  Block* b = f.take(mib, Mapping::lazy);
  f.pool.give_back(a);
  EXPECT_EQ(f.pool.report().unmapped, 2 * mib);
  EXPECT_EQ(f.take(mib, Mapping::lazy), a);
  EXPECT_EQ(a->page->id, Page::unmapped);
  f.pool.give_back(a);
  EXPECT_EQ(f.take(mib), a);
  EXPECT_NE(a->page->id, Page::unmapped);
  f.pool.give_back(b);
  EXPECT_EQ(f.pool.take(mib, Mapping::eager).error().kind(), ErrorKind::OutOfMemory);
  EXPECT_EQ(f.pool.release_free(), mib);
  EXPECT_EQ(f.store.unmapped(), 0u);
}

TEST(DirectPool, DrainingRetiresPagesAsTheyAreGivenBack) {
  Fixture f;
  Block* a = f.take(mib);
  f.pool.give_back(f.take(2 * mib));
  f.pool.drain();
  EXPECT_EQ(f.store.reserved(), mib);
  f.pool.give_back(a);
  EXPECT_TRUE(f.pool.empty());
  EXPECT_EQ(f.store.reserved(), 0u);
}

TEST(DirectPool, PlacementDependsOnRequestsAlone) {
  std::vector<std::pair<std::size_t, std::uint64_t>> places[2];
  for (int run = 0; run < 2; ++run) {
    Fixture f(200 * kib);
    std::mt19937 random(4);
    std::vector<Block*> held;
    Point last;
    for (int i = 0; i < 1500; ++i) {
      held.push_back(f.take(64 + 64 * (random() % 400)));
      places[run].emplace_back(held.back()->page->index, held.back()->bytes);
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
