// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/memory/memory.hpp"

#include <random>

#include "server/memory/memory_testing.hpp"

namespace tessera::server {
namespace {

using namespace testing;
using Sliced = tessera::SlicedPool;
using Exclusive = tessera::ExclusivePool;
using Direct = tessera::DirectPool;

struct Fixture {
  explicit Fixture(const MemoryLayout& layout = {},
                   PersistentPolicy policy = PersistentPolicy::windows,
                   std::uint64_t bytes = 64 * mib)
      : driver(sim(bytes)), memory(*driver, layout, policy) {}
  Block* take(std::uint64_t bytes, StreamId stream = 0, Mapping mapping = Mapping::eager) {
    return memory.take(bytes, stream, mapping).value();
  }
  PoolReport pool(std::size_t i) const { return memory.report().pools.at(i); }
  std::unique_ptr<driver::Driver> driver;
  Memory memory;
};

void expect_says(const Error& error, ErrorKind kind, std::vector<std::string> words) {
  EXPECT_EQ(error.kind(), kind);
  for (const std::string& word : words) {
    EXPECT_NE(error.message().find(word), std::string::npos) << word << ": " << error.message();
  }
}

TEST(Memory, TheFirstPoolThatTakesARequestServesIt) {
  Fixture f(MemoryLayout::custom({Sliced{64 * kib, kib, 0, 0}, Exclusive{mib, 0}, Direct{}}));
  f.take(kib);
  f.take(60 * kib);  // nearly a page
  f.take(2 * kib);
  f.take(3 * mib);
  EXPECT_EQ(f.pool(0).live, 2u);
  EXPECT_EQ(f.pool(1).live, 1u);
  EXPECT_EQ(f.pool(2).live, 1u);
  EXPECT_EQ(f.pool(3).kind, "persistent");
  EXPECT_EQ(f.pool(3).live, 0u);
}

TEST(Memory, AFullPoolPassesRequestsOn) {
  Fixture f(MemoryLayout::custom({Sliced{64 * kib, 0, 128 * kib, 0}, Sliced{mib, 0, mib, 0}}));
  Block* first = f.take(64 * kib);
  f.take(64 * kib);
  f.take(64 * kib);
  EXPECT_EQ(f.pool(0).live, 2u);
  EXPECT_EQ(f.pool(1).live, 1u);
  f.memory.give_back(first);
  EXPECT_EQ(f.take(64 * kib), first);
}

TEST(Memory, EveryCapacityReachedIsOutOfMemoryForNow) {
  Fixture f(MemoryLayout::custom({Sliced{64 * kib, 0, 128 * kib, 0}, Sliced{kib, 0, kib, 0}}));
  Block* held = f.take(64 * kib);
  f.take(64 * kib);
  const auto refused = f.memory.take(1000, 0);
  ASSERT_TRUE(refused);
  expect_says(f.memory.take(1000, 0).error(), ErrorKind::OutOfMemory,
              {"1000 bytes", "132096 of the 132096 bytes", "Release buffers"});
  f.memory.give_back(held);
  EXPECT_TRUE(f.memory.take(1000, 0));
}

TEST(Memory, ASizeThatNoPoolTakesIsTooLarge) {
  Fixture f(MemoryLayout::custom({Sliced{64 * kib, kib, 128 * kib, 0}}));
  expect_says(f.memory.take(2048, 0).error(), ErrorKind::TooLarge,
              {"2048 bytes", "has 1024", "0 bytes are in use", "Add an exclusive"});
}

TEST(Memory, ASizeOverThePageLimitIsTooLarge) {
  Fixture f;
  f.take(64);
  for (const std::uint64_t bytes : {64 * mib + 1, ~std::uint64_t{0}}) {
    expect_says(f.memory.take(bytes, 0).error(), ErrorKind::TooLarge,
                {std::to_string(bytes), "67108864 bytes", "64 bytes are in use", "Divide"});
  }
  // Also where every pool is persistent.
  Fixture enforced({}, PersistentPolicy::enforced);
  EXPECT_EQ(enforced.memory.take(64 * mib + 1, 0).error().kind(), ErrorKind::TooLarge);
}

TEST(Memory, ADeviceWithoutALimitOfItsOwn) {
  constexpr std::uint64_t most = std::uint64_t{1} << 46;
  for (const MemoryLayout& layout :
       {MemoryLayout::adaptive(), MemoryLayout::sub_slices(), MemoryLayout::exclusive_pages()}) {
    Fixture f(layout, PersistentPolicy::windows, ~std::uint64_t{0});
    Block* block = f.take(most, 0, Mapping::lazy);
    f.memory.give_back(block);
    EXPECT_EQ(f.take(most - 100, 0, Mapping::lazy), block);
    EXPECT_EQ(f.memory.take(most + 1, 0, Mapping::lazy).error().kind(), ErrorKind::TooLarge);
  }
}

TEST(Memory, AFullDeviceIsOutOfMemoryWithItsFigures) {
  Fixture f(MemoryLayout::custom({Direct{}}));
  Block* held = f.take(40 * mib);
  const Error error = f.memory.take(30 * mib, 0).error();
  expect_says(error, ErrorKind::OutOfMemory,
              {"31457280 bytes", "of 67108864 bytes", "reserved 41943040", "buffers take 41943040",
               "0 are given up", "Release buffers or trim"});
  EXPECT_NE(error.cause(), nullptr);
  f.memory.give_back(held);
  EXPECT_EQ(f.memory.take(30 * mib, 0).error().kind(), ErrorKind::OutOfMemory);
  EXPECT_EQ(f.memory.release_free(), 40 * mib);
  EXPECT_TRUE(f.memory.take(30 * mib, 0));
}

TEST(Memory, PagesGivenUpComeBackOnceTheDeviceIsDone) {
  Fixture f(MemoryLayout::custom({Direct{}}));
  Block* held = f.take(40 * mib);
  const Point point = write(*f.driver, *held);
  f.memory.give_back(held);
  EXPECT_EQ(f.memory.release_free(), 40 * mib);
  EXPECT_EQ(f.memory.retiring(), 40 * mib);
  EXPECT_EQ(f.memory.collect(), 0u);
  expect_says(f.memory.take(30 * mib, 0).error(), ErrorKind::OutOfMemory,
              {"41943040 are given up"});
  finish(*f.driver, point);
  EXPECT_EQ(f.memory.collect(), 40 * mib);
  EXPECT_TRUE(f.memory.take(30 * mib, 0));
}

// Pages belong to the device: a stream that idles keeps no memory from the others.
TEST(Memory, StreamsShareThePagesOfTheDevice) {
  Fixture f;
  Block* a = f.take(1000, 1);
  Block* b = f.take(1000, 2);
  EXPECT_EQ(a->page, b->page);
  f.memory.give_back(a);
  EXPECT_EQ(f.take(1000, 3), a);
  EXPECT_EQ(f.memory.reserved(), 8 * mib);
  for (StreamId stream = 10; stream < 200; ++stream) f.take(100, stream);
  EXPECT_EQ(f.memory.reserved(), 8 * mib);
}

TEST(Memory, AccountsArePerStream) {
  Fixture f;
  Block* a = f.take(1000, 7);
  Block* b = f.take(10, 5);
  f.take(64, 7);
  MemoryReport report = f.memory.report();
  ASSERT_EQ(report.streams.size(), 2u);
  EXPECT_EQ(report.streams[0].stream, 5u);
  EXPECT_EQ(report.streams[0].padding, 64u - 10u);
  EXPECT_EQ(report.streams[1].live, 2u);
  EXPECT_EQ(report.streams[1].bytes, 1064u);
  EXPECT_EQ(a->stream, 7u);
  f.memory.give_back(a);
  f.memory.give_back(b);
  report = f.memory.report();
  EXPECT_EQ(report.streams[0].live + report.streams[0].bytes + report.streams[0].padding, 0u);
  EXPECT_EQ(report.streams[1].bytes, 64u);
  EXPECT_EQ(report.streams[1].peak, 1024u + 64u);
}

TEST(Memory, WindowsOfPersistentMemoryNest) {
  Fixture f;
  f.memory.open_persistent(3);
  f.memory.open_persistent(3);
  const Block* a = f.take(100, 3);
  f.memory.close_persistent(3);
  const Block* b = f.take(100, 3);
  const Block* other = f.take(100, 4);  // of a stream without a window
  f.memory.close_persistent(3);
  const Block* c = f.take(100, 3);
  EXPECT_EQ(a->page->bytes, 128u);
  EXPECT_EQ(b->page->bytes, 128u);
  EXPECT_GT(other->page->bytes, 128u);
  EXPECT_GT(c->page->bytes, 128u);
  // One close too many does not eat into the next window.
  f.memory.close_persistent(3);
  f.memory.close_persistent(3);
  f.memory.open_persistent(3);
  EXPECT_EQ(f.take(100, 3)->page->bytes, 128u);
}

TEST(Memory, WindowsOfStreamsThatNeverDidAnything) {
  Fixture f;
  f.memory.close_persistent(8);
  f.memory.set_cap(8, 0);
  EXPECT_TRUE(f.memory.report().streams.empty());
  f.memory.open_persistent(9);
  const MemoryReport report = f.memory.report();
  ASSERT_EQ(report.streams.size(), 1u);
  EXPECT_EQ(report.streams[0].stream, 9u);
  EXPECT_EQ(report.streams[0].persistent, 1u);
  EXPECT_EQ(f.memory.reserved(), 0u);
  f.memory.close_persistent(9);
  EXPECT_EQ(f.memory.report().streams[0].persistent, 0u);
}

TEST(Memory, ThePolicyOverrulesWindows) {
  Fixture off({}, PersistentPolicy::disabled);
  off.memory.open_persistent(0);
  EXPECT_GT(off.take(100)->page->bytes, 128u);
  Fixture always({}, PersistentPolicy::enforced);
  EXPECT_EQ(always.take(100)->page->bytes, 128u);
  always.memory.open_persistent(0);
  always.memory.close_persistent(0);
  EXPECT_EQ(always.take(5000)->page->bytes, 5056u);
}

// Persistent memory is not kept for ever by sizes that never come again.
TEST(Memory, EnforcedPersistentMemoryStaysBounded) {
  Fixture f({}, PersistentPolicy::enforced, gib);
  for (std::uint64_t i = 0; i < 200; ++i) {
    f.memory.give_back(f.take(8 * mib + 256 * i, 0, Mapping::lazy));
    ASSERT_LE(f.memory.reserved(), 80 * mib);
  }
  EXPECT_GT(f.memory.release_free(), 50 * mib);
  EXPECT_EQ(f.memory.reserved(), 0u);
}

TEST(Memory, ACapHoldsOneStreamAlone) {
  Fixture f;
  f.memory.set_cap(1, 1024);
  Block* a = f.take(500, 1);
  f.take(512, 1);
  expect_says(f.memory.take(1, 1).error(), ErrorKind::OutOfMemory,
              {"1 bytes", "stream 1", "1024 of 1024", "raise its cap"});
  EXPECT_TRUE(f.memory.take(5000, 2));
  f.memory.give_back(a);
  EXPECT_TRUE(f.memory.take(256, 1));
  // Lowered below what is taken: that stays, and nothing comes to it.
  f.memory.set_cap(1, 100);
  EXPECT_EQ(f.memory.take(1, 1).error().kind(), ErrorKind::OutOfMemory);
  EXPECT_EQ(f.memory.report().streams[0].live, 2u);
  f.memory.set_cap(1, 0);
  EXPECT_TRUE(f.memory.take(mib, 1));
}

TEST(Memory, ACapCountsTheWholeOfALargerPageReused) {
  Fixture f(MemoryLayout::custom({Exclusive{}}));
  f.memory.set_cap(1, 5000);
  f.memory.give_back(f.take(8192, 0));
  EXPECT_EQ(f.memory.take(4500, 1).error().kind(), ErrorKind::OutOfMemory);
  const MemoryReport report = f.memory.report();
  EXPECT_EQ(report.live, 0u);
  EXPECT_EQ(report.streams[1].bytes, 0u);
  EXPECT_EQ(f.memory.taken(), 0u);
}

TEST(Memory, AnInvalidLayoutChangesNothing) {
  Fixture f;
  const Block* a = f.take(100);
  const Status refused = f.memory.install(MemoryLayout::custom({}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::InvalidArgument);
  EXPECT_FALSE(f.memory.has_outdated());
  EXPECT_EQ(f.take(100)->page, a->page);
  // Made with one: the default serves.
  Fixture g(MemoryLayout::custom({}));
  EXPECT_EQ(g.take(100)->page->bytes, 8 * mib);
}

TEST(Memory, PoolsOfAnEarlierLayoutDrain) {
  Fixture f(MemoryLayout::custom({Sliced{mib, 0, 0, 0}}));
  Block* a = f.take(mib / 2);
  Block* b = f.take(mib);
  f.memory.give_back(f.take(mib));
  EXPECT_EQ(f.memory.reserved(), 3 * mib);
  ASSERT_TRUE(f.memory.install(MemoryLayout::custom({Direct{}})));
  EXPECT_TRUE(f.memory.has_outdated());
  EXPECT_EQ(f.memory.reserved(), 2 * mib);
  MemoryReport report = f.memory.report();
  ASSERT_EQ(report.pools.size(), 3u);
  EXPECT_EQ(report.pools[0].kind, "direct");
  EXPECT_EQ(report.pools[1].kind, "persistent");
  EXPECT_TRUE(report.pools[2].outdated);
  EXPECT_EQ(report.pools[2].live, 2u);
  EXPECT_EQ(report.pools[0].peak, 0u);
  EXPECT_EQ(f.take(4096)->page->bytes, 4096u);
  f.memory.give_back(a);
  EXPECT_EQ(f.memory.reserved(), mib + 4096);
  f.memory.give_back(b);
  EXPECT_FALSE(f.memory.has_outdated());
  EXPECT_EQ(f.memory.reserved(), 4096u);
  EXPECT_EQ(f.memory.report().pools.size(), 2u);
}

TEST(Memory, BlocksOfOutdatedPoolsMayMoveWhileTheyAreVisited) {
  Fixture f;
  for (int i = 0; i < 20; ++i) f.take(i % 2 == 0 ? 1000 : 100 * kib, 2);
  ASSERT_TRUE(f.memory.install(MemoryLayout::custom({Direct{}})));
  f.take(300, 2);
  std::vector<Page*> pages;
  f.memory.for_each_outdated([&](Block& block) {
    if (pages.empty() || pages.back() != block.page) pages.push_back(block.page);
    f.take(block.requested, block.stream);
    f.memory.give_back(&block);
  });
  EXPECT_EQ(pages.size(), 2u);  // pages together
  EXPECT_FALSE(f.memory.has_outdated());
  EXPECT_EQ(f.memory.report().live, 21u);
}

TEST(Memory, PersistentMemorySurvivesALayout) {
  Fixture f({}, PersistentPolicy::enforced);
  f.memory.give_back(f.take(mib));
  Block* a = f.take(1000);
  ASSERT_TRUE(f.memory.install(MemoryLayout::sub_slices()));
  EXPECT_FALSE(f.memory.has_outdated());
  f.memory.give_back(a);
  EXPECT_EQ(f.take(1000), a);
  EXPECT_EQ(f.memory.report().peak, f.memory.reserved());
}

// No kind of pool takes memory for a request that only asks where it would lie, nor when what it
// gave is given back.
TEST(Memory, LazyRequestsTakeNothingFromTheDevice) {
  const std::vector<MemoryLayout> layouts = {
      MemoryLayout::adaptive(), MemoryLayout::sub_slices(), MemoryLayout::exclusive_pages(),
      MemoryLayout::custom({Direct{}}), MemoryLayout::custom({Sliced{64 * mib, 0, 0, 0}})};
  for (const auto policy : {PersistentPolicy::windows, PersistentPolicy::enforced}) {
    for (const MemoryLayout& layout : layouts) {
      Fixture f(layout, policy);
      const driver::PageId all = f.driver->allocate(driver::PageKind::device, 64 * mib).value();
      std::vector<Block*> held;
      for (const std::uint64_t bytes : {64 * mib, 50 * mib, 3 * mib, 100 * kib, 5 * kib, kib}) {
        for (int i = 0; i < 3; ++i) held.push_back(f.take(bytes, 0, Mapping::lazy));
      }
      for (Block* block : held) ASSERT_EQ(block->page->id, Page::unmapped);
      const MemoryReport report = f.memory.report();
      EXPECT_EQ(report.unmapped, report.reserved);
      EXPECT_EQ(f.memory.map(*held[0]).error().kind(), ErrorKind::OutOfMemory);
      for (Block* block : held) f.memory.give_back(block);
      f.memory.release_free();
      EXPECT_EQ(f.memory.reserved() + f.memory.retiring(), 0u);
      f.driver->free(all);
      Block* block = f.take(kib, 0, Mapping::lazy);
      ASSERT_TRUE(f.memory.map(*block));
      EXPECT_EQ(f.memory.at(block->page->id, block->offset), block);
    }
  }
}

// Bytes are counted beyond 32 bits.
TEST(Memory, MoreThanFourGiBAreCounted) {
  Fixture f({}, PersistentPolicy::windows, 64 * gib);
  std::vector<Block*> held;
  for (int i = 0; i < 5; ++i) held.push_back(f.take(3 * gib, 0, Mapping::lazy));
  EXPECT_EQ(f.memory.taken(), 15 * gib);
  EXPECT_EQ(f.memory.report().streams[0].bytes, 15 * gib);
  EXPECT_EQ(f.memory.report().bytes, 15 * gib);
  for (Block* block : held) f.memory.give_back(block);
  EXPECT_EQ(f.memory.taken(), 0u);
  EXPECT_EQ(f.memory.release_free(), 5 * (3 * gib + mib));
}

TEST(Memory, ReportsAgree) {
  const std::vector<MemoryLayout> layouts = {
      MemoryLayout::adaptive(), MemoryLayout::sub_slices(), MemoryLayout::exclusive_pages(),
      MemoryLayout::custom({Sliced{64 * kib, 0, 256 * kib, 20}, Direct{mib}})};
  Fixture f({}, PersistentPolicy::windows, gib);
  std::mt19937 random(11);
  std::vector<Block*> held;
  for (int step = 0; step < 6000; ++step) {
    if (step % 1000 == 999) {
      ASSERT_TRUE(f.memory.install(layouts[random() % layouts.size()]));
    }
    if (step % 97 == 0) f.memory.open_persistent(random() % 4);
    if (step % 89 == 0) f.memory.close_persistent(random() % 4);
    if (step % 701 == 0) f.memory.release_free();
    const auto mapping = random() % 2 == 0 ? Mapping::lazy : Mapping::eager;
    const std::uint64_t size = 1 + random() % (random() % 20 == 0 ? mib : 20 * kib);
    held.push_back(f.take(size, random() % 4, mapping));
    while (held.size() > 60) {
      const std::size_t k = random() % held.size();
      f.memory.give_back(held[k]);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(k));
    }
    if (step % 50 != 0) continue;
    const MemoryReport report = f.memory.report();
    std::uint64_t asked = 0, taken = 0;
    for (const Block* block : held) {
      asked += block->requested;
      taken += block->bytes;
    }
    std::uint64_t live = 0, bytes = 0, padding = 0;
    for (const StreamMemory& stream : report.streams) {
      live += stream.live;
      bytes += stream.bytes;
      padding += stream.padding;
    }
    std::uint64_t reserved = 0, unmapped = 0;
    for (const PoolReport& pool : report.pools) {
      reserved += pool.reserved;
      unmapped += pool.unmapped;
      ASSERT_LE(pool.reserved, pool.peak);
      ASSERT_LE(pool.pages, pool.pages_peak);
      ASSERT_LE(pool.bytes + pool.padding, pool.reserved);
    }
    ASSERT_EQ(report.live, held.size());
    ASSERT_EQ(report.live, live);
    ASSERT_EQ(report.bytes, asked);
    ASSERT_EQ(report.bytes, bytes);
    ASSERT_EQ(report.padding, padding);
    ASSERT_EQ(report.bytes + report.padding, taken);
    ASSERT_EQ(f.memory.taken(), taken);
    ASSERT_EQ(report.reserved, reserved);
    ASSERT_EQ(report.unmapped, unmapped);
    ASSERT_LE(report.reserved, report.peak);
  }
  for (Block* block : held) f.memory.give_back(block);
  EXPECT_FALSE(f.memory.has_outdated());
  f.memory.release_free();
  EXPECT_EQ(f.memory.reserved() + f.memory.taken() + f.memory.retiring(), 0u);
}

}  // namespace
}  // namespace tessera::server
