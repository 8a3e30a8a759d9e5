// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/memory/page_pool.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "driver/sim/sim.hpp"

namespace tessera::server {
namespace {

std::unique_ptr<driver::Driver> sim() {
  driver::SimOptions options;
  options.memory_limit = 8 << 20;
  return driver::make_sim(options);
}

TEST(PagePool, BlocksNeverOverlapAndComeBackWhole) {
  auto driver = sim();
  PagePool pool(*driver, 1 << 20, 64);
  std::mt19937 random(3);
  std::map<std::pair<driver::PageId, std::uint64_t>, Block*> taken;
  for (int step = 0; step < 5000; ++step) {
    if (taken.size() < 40 || random() % 2 == 0) {
      const Result<Block*> block = pool.take(1 + random() % 20000);
      if (!block) {
        ASSERT_EQ(block.error().kind(), ErrorKind::OutOfMemory);
      } else {
        ASSERT_EQ((*block)->offset % 64, 0u);
        const auto place = std::pair((*block)->page, (*block)->offset);
        const auto next = taken.lower_bound(place);
        if (next != taken.end() && next->first.first == place.first) {
          ASSERT_LE(place.second + (*block)->bytes, next->first.second);
        }
        if (next != taken.begin()) {
          const auto& [before, b] = *std::prev(next);
          if (before.first == place.first) {
            ASSERT_LE(before.second + b->bytes, place.second);
          }
        }
        taken.emplace(place, *block);
        continue;
      }
    }
    const auto victim = std::next(taken.begin(), static_cast<long>(random() % taken.size()));
    pool.give_back(victim->second);
    taken.erase(victim);
  }
  for (const auto& [place, block] : taken) pool.give_back(block);
  EXPECT_EQ(pool.usage().taken, 0u);
  // Coalesced back to whole pages, which can all go.
  const std::uint64_t reserved = pool.usage().reserved;
  EXPECT_EQ(pool.trim([](const AccessRecord&) { return true; }), reserved);
  EXPECT_EQ(pool.usage().pages, 0u);
}

TEST(PagePool, PlacementDependsOnRequestsAlone) {
  std::vector<std::uint64_t> places[2];
  for (auto& out : places) {
    auto driver = sim();
    PagePool pool(*driver, 1 << 20, 64);
    std::mt19937 random(9);
    std::vector<Block*> held;
    for (int i = 0; i < 500; ++i) {
      held.push_back(pool.take(1 + random() % 3000).value());
      out.push_back(held.back()->offset);
      if (random() % 3 != 0) {
        const std::size_t k = random() % held.size();
        pool.give_back(held[k]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(k));
      }
    }
  }
  EXPECT_EQ(places[0], places[1]);
}

TEST(PagePool, AReusedBlockKeepsTheRecordOfItsBytes) {
  auto driver = sim();
  PagePool pool(*driver, 1 << 20, 64);
  Block* first = pool.take(1000).value();
  first->record.note_write(first->offset, first->offset + 1000, {2, 17});
  const std::uint64_t at = first->offset;
  pool.give_back(first);
  Block* second = pool.take(500).value();
  ASSERT_EQ(second->offset, at);
  PointSet needed;
  second->record.before_write(at, at + 500, needed);
  ASSERT_FALSE(needed.empty());
  EXPECT_EQ(*needed.begin(), (Point{2, 17}));
}

TEST(PagePool, TooLargeIsToldFromOutOfMemory) {
  auto driver = sim();
  PagePool pool(*driver, 1 << 20, 64);
  EXPECT_EQ(pool.take(std::uint64_t{1} << 40).error().kind(), ErrorKind::TooLarge);
  std::vector<Block*> held;
  for (;;) {
    const Result<Block*> block = pool.take(1 << 20);
    if (!block) {
      EXPECT_EQ(block.error().kind(), ErrorKind::OutOfMemory);
      break;
    }
    held.push_back(*block);
  }
  EXPECT_EQ(held.size(), 8u);
}

}  // namespace
}  // namespace tessera::server
