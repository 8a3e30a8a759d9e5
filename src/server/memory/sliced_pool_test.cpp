// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/memory/sliced_pool.hpp"

#include <chrono>
#include <map>
#include <random>
#include <set>

#include "server/memory/memory_testing.hpp"

namespace tessera::server {
namespace {

using namespace testing;

struct Fixture {
  explicit Fixture(SlicedPool::Config config, std::uint64_t memory = 64 * mib)
      : driver(sim(memory)), store(*driver), pool(store, 64, config) {}
  Block* take(std::uint64_t bytes, Mapping mapping = Mapping::eager) {
    return pool.take(bytes, mapping).value();
  }
  std::unique_ptr<driver::Driver> driver;
  PageStore store;
  SlicedPool pool;
};

TEST(SlicedPool, TakesSlicesAndWhatNearlyFillsAPage) {
  Fixture f({1000 * 64, 4096, 0, 0});
  EXPECT_TRUE(f.pool.accepts(1));
  EXPECT_TRUE(f.pool.accepts(4096));
  EXPECT_FALSE(f.pool.accepts(4097));
  EXPECT_FALSE(f.pool.accepts(800 * 64 - 1));
  EXPECT_TRUE(f.pool.accepts(800 * 64));
  EXPECT_TRUE(f.pool.accepts(1000 * 64));
  EXPECT_FALSE(f.pool.accepts(1000 * 64 + 1));
  Fixture capped({1000 * 64, 4096, 3, 0});
  EXPECT_TRUE(capped.pool.accepts(4096));
  EXPECT_FALSE(capped.pool.accepts(1000 * 64));
  EXPECT_EQ(capped.pool.capacity(), 3000u * 64);
}

TEST(SlicedPool, ACapacityIsReachedWithoutAnError) {
  Fixture f({mib, mib, 2, 0});
  Block* first = f.take(mib);
  f.take(mib);
  const Result<Block*> none = f.pool.take(64, Mapping::eager);
  ASSERT_TRUE(none);
  EXPECT_EQ(*none, nullptr);
  f.pool.give_back(first);
  EXPECT_NE(f.take(64), nullptr);
}

// Blocks never overlap and cover their pages, and whoever wrote a byte is in the record of
// whichever block holds the byte afterwards.
TEST(SlicedPool, RandomRequestsAgainstAModel) {
  for (const unsigned seed : {1u, 2u, 3u, 4u, 5u, 6u}) {
    Fixture f({256 * kib, 256 * kib, 8, 0});
    std::mt19937 random(seed);
    std::vector<Block*> held;
    std::set<Page*> pages;
    std::map<std::pair<Page*, std::uint64_t>, Point> writer;  // of every 64 bytes, the last
    Ticket ticket = 0;
    const auto check_records = [&](const Block& block) {
      for (std::uint64_t at = block.offset; at < block.offset + block.bytes; at += 64) {
        const auto known = writer.find({block.page, at});
        if (known == writer.end()) continue;
        PointSet needed;
        block.record.before_write(at, at + 64, needed);
        bool named = false;
        for (const Point p : needed) {
          named |= p.queue == known->second.queue && p.ticket >= known->second.ticket;
        }
        ASSERT_TRUE(named) << "offset " << at;
      }
    };
    for (int step = 0; step < 4000; ++step) {
      if (held.size() < 20 || random() % 2 == 0) {
        const std::uint64_t bytes =
            random() % 8 == 0 ? 1 + random() % 60000 : 64 * (1 + random() % 6) - random() % 8;
        Block* block = f.take(bytes);
        if (block != nullptr) {
          ASSERT_FALSE(block->free);
          ASSERT_EQ(block->offset % 64, 0u);
          ASSERT_GE(block->bytes, bytes);
          ASSERT_LT(block->bytes, bytes + 64);
          ASSERT_EQ(block->requested, bytes);
          pages.insert(block->page);
          check_records(*block);
          // Part of it is written.
          const std::uint64_t units = block->bytes / 64;
          const std::uint64_t begin = block->offset + 64 * (random() % units);
          const std::uint64_t end = block->offset + block->bytes;
          const Point point{static_cast<QueueId>(random() % 3), ++ticket};
          block->record.note_write(begin, end, point);
          for (std::uint64_t at = begin; at < end; at += 64) {
            writer[{block->page, at}] = point;
          }
          held.push_back(block);
          continue;
        }
      }
      if (held.empty()) continue;
      const std::size_t victim = random() % held.size();
      f.pool.give_back(held[victim]);
      held[victim] = held.back();
      held.pop_back();
      if (step % 50 == 0) {
        for (const Page* page : pages) {
          check_cover(*page);
          for (const Block* b = page->first; b != nullptr; b = b->after) check_records(*b);
        }
      }
    }
    std::uint64_t bytes = 0, padding = 0;
    for (const Block* block : held) {
      bytes += block->requested;
      padding += block->bytes - block->requested;
    }
    const PoolReport report = f.pool.report();
    EXPECT_EQ(report.live, held.size());
    EXPECT_EQ(report.bytes, bytes);
    EXPECT_EQ(report.padding, padding);
    EXPECT_EQ(report.pages, pages.size());
    std::size_t seen = 0;
    f.pool.for_each_taken([&](Block&) { ++seen; });
    EXPECT_EQ(seen, held.size());
    for (Block* block : held) f.pool.give_back(block);
    EXPECT_TRUE(f.pool.empty());
    EXPECT_EQ(f.pool.release_free(), report.reserved);
    EXPECT_EQ(f.store.reserved(), 0u);
  }
}

// The same requests lie at the same places whether the device is done with everything at once or
// with nothing before the end.
TEST(SlicedPool, PlacementDependsOnRequestsAlone) {
  std::vector<std::pair<std::size_t, std::uint64_t>> places[3];
  for (int run = 0; run < 3; ++run) {
    Fixture f({128 * kib, 64 * kib, 0, 50});
    std::mt19937 random(9);
    std::vector<Block*> held;
    Point last;
    for (int i = 0; i < 2000; ++i) {
      held.push_back(f.take(1 + random() % 20000));
      places[run].emplace_back(held.back()->page->index, held.back()->offset);
      last = write(*f.driver, *held.back());
      if (run == 1 || (run == 2 && i % 7 == 0)) {
        finish(*f.driver, last);
        f.store.collect();
      }
      while (held.size() > 12 || (!held.empty() && random() % 3 != 0)) {
        const std::size_t k = random() % held.size();
        f.pool.give_back(held[k]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(k));
      }
    }
    finish(*f.driver, last);
  }
  EXPECT_EQ(places[0], places[1]);
  EXPECT_EQ(places[0], places[2]);
}

// A block is free the moment that it is given back: nobody asks whether the device is done.
TEST(SlicedPool, ABlockInUseByTheDeviceIsHandedOutWithItsRecord) {
  Fixture f({mib, mib, 0, 0});
  Block* first = f.take(1000);
  const Point point = write(*f.driver, *first);
  const std::uint64_t at = first->offset;
  f.pool.give_back(first);
  Block* second = f.take(1000);
  ASSERT_EQ(second->offset, at);
  PointSet needed;
  second->record.before_read(at, at + 500, needed);
  ASSERT_FALSE(needed.empty());
  EXPECT_EQ(*needed.begin(), point);
  f.pool.give_back(second);
  Block* half = f.take(500);  // another size: split from the joined page
  EXPECT_EQ(half->page, second->page);
  finish(*f.driver, point);
}

TEST(SlicedPool, RestingBlocksAreJoinedBeforeThePoolGrows) {
  Fixture f({16 * kib, 16 * kib, 0, 0});
  std::vector<Block*> held;
  for (const std::uint64_t bytes : {1024, 2048, 4096, 8192, 1024}) held.push_back(f.take(bytes));
  EXPECT_EQ(f.pool.report().pages, 1u);
  for (Block* block : held) f.pool.give_back(block);
  Block* whole = f.take(16 * kib);
  EXPECT_EQ(whole->bytes, 16 * kib);
  EXPECT_EQ(f.pool.report().pages, 1u);
}

// Pages return by themselves where that is asked for, not only when trimmed.
TEST(SlicedPool, EmptyPagesGoAfterSoManyTakes) {
  Fixture f({mib, mib, 0, 4});
  Block* a = f.take(mib);
  Block* b = f.take(mib);
  f.pool.give_back(a);
  EXPECT_EQ(f.pool.report().pages, 2u);
  Block* c = f.take(mib);
  f.pool.give_back(c);
  f.pool.give_back(b);
  EXPECT_EQ(f.pool.report().pages, 2u);
  Block* d = f.take(mib);  // the fourth
  EXPECT_EQ(f.pool.report().pages, 1u);
  EXPECT_EQ(f.store.reserved(), mib);
  f.pool.give_back(d);
  Fixture never({mib, mib, 0, 0});
  never.pool.give_back(never.take(64));
  for (int i = 0; i < 100; ++i) never.pool.give_back(never.take(64));
  EXPECT_EQ(never.pool.report().pages, 1u);
}

TEST(SlicedPool, DrainingRetiresPagesAsTheyBecomeFree) {
  Fixture f({mib, mib, 0, 0});
  Block* a = f.take(mib / 2);
  Block* b = f.take(mib / 2);
  Block* c = f.take(mib);
  f.pool.give_back(f.take(64));
  f.pool.drain();
  EXPECT_EQ(f.pool.report().pages, 2u);
  f.pool.give_back(a);
  EXPECT_EQ(f.pool.report().pages, 2u);
  f.pool.give_back(b);
  EXPECT_EQ(f.pool.report().pages, 1u);
  EXPECT_FALSE(f.pool.empty());
  f.pool.give_back(c);
  EXPECT_TRUE(f.pool.empty());
  EXPECT_EQ(f.store.reserved(), 0u);
}

TEST(SlicedPool, ALazyPageIsMappedByUseAlone) {
  Fixture f({mib, mib, 0, 0}, 2 * mib);
  Block* a = f.take(1000, Mapping::lazy);
  Block* b = f.take(1000, Mapping::lazy);
  EXPECT_EQ(a->page->id, Page::unmapped);
  EXPECT_EQ(f.pool.report().unmapped, mib);
  f.pool.give_back(b);
  b = f.take(1000, Mapping::lazy);  // rested
  f.pool.give_back(b);
  f.pool.give_back(f.take(5000, Mapping::lazy));  // split
  EXPECT_EQ(a->page->id, Page::unmapped);
  EXPECT_EQ(f.store.unmapped(), mib);
  const std::uint64_t at = a->offset;
  ASSERT_TRUE(f.store.map(*a->page));
  EXPECT_NE(a->page->id, Page::unmapped);
  EXPECT_EQ(a->offset, at);
  EXPECT_EQ(f.pool.report().unmapped, 0u);
}

TEST(SlicedPool, AnEagerRequestMapsThePageOrIsRefusedAndChangesNothing) {
  Fixture f({mib, mib, 1, 0}, mib);
  Block* a = f.take(1000, Mapping::lazy);
  f.pool.give_back(f.take(3000, Mapping::lazy));
  const driver::PageId other = f.driver->allocate(driver::PageKind::device, mib).value();
  for (const std::uint64_t bytes : {3000, 500}) {  // rested; filed
    const Result<Block*> refused = f.pool.take(bytes, Mapping::eager);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), ErrorKind::OutOfMemory);
  }
  EXPECT_EQ(f.pool.report().live, 1u);
  check_cover(*a->page);
  f.driver->free(other);
  for (const std::uint64_t bytes : {3000, 500}) {
    EXPECT_NE(f.take(bytes)->page->id, Page::unmapped);
  }
}

TEST(SlicedPool, UnmappedPagesAreReleasedWithoutTheDevice) {
  Fixture f({mib, mib, 0, 0}, mib);
  Block* blocks[4];
  for (Block*& block : blocks) block = f.take(mib, Mapping::lazy);
  for (Block* block : blocks) f.pool.give_back(block);
  EXPECT_EQ(f.pool.release_free(), 4 * mib);
  EXPECT_EQ(f.store.retiring() + f.store.unmapped(), 0u);
}

// Pages are numbered beyond 16 bits and bytes beyond 32.
TEST(SlicedPool, MorePagesThanSixteenBitsCount) {
  Fixture f({128 * kib, 128 * kib, 0, 0}, 64 * gib);
  std::vector<Block*> held;
  for (int i = 0; i < 70000; ++i) held.push_back(f.take(128 * kib, Mapping::lazy));
  EXPECT_EQ(held.back()->page->index, 69999u);
  const PoolReport report = f.pool.report();
  EXPECT_EQ(report.pages, 70000u);
  EXPECT_EQ(report.bytes, 70000 * 128 * kib);
  f.pool.give_back(held[66000]);
  EXPECT_EQ(f.take(128 * kib, Mapping::lazy)->page, held[66000]->page);
  f.pool.give_back(held[3]);
  f.pool.give_back(held[65539]);
  EXPECT_EQ(f.pool.release_free(), 256 * kib);
}

// A request costs the same however many pages and slices there are. A walk over them would take
// hundreds of times the limit's share.
TEST(SlicedPool, ManyFullPagesCostARequestNothing) {
  Fixture f({4 * kib, 4 * kib, 0, 0}, 64 * gib);
  std::vector<Block*> held;
  for (int i = 0; i < 160000; ++i) held.push_back(f.take(512, Mapping::lazy));
  std::mt19937 random(1);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 300000; ++i) {
    Block*& block = held[random() % held.size()];
    f.pool.give_back(block);
    block = f.take(448 + 64 * (i % 2), Mapping::lazy);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(4));
}

}  // namespace
}  // namespace tessera::server
