// SPDX-License-Identifier: MIT OR Apache-2.0
// What the tests of the pools share: a device whose work completes when they say, and checks that
// hold for every pool.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "driver/sim/sim.hpp"
#include "server/memory/page_store.hpp"

namespace tessera::server::testing {

constexpr std::uint64_t kib = 1024, mib = 1024 * kib, gib = 1024 * mib;

inline std::unique_ptr<driver::Driver> sim(std::uint64_t memory = 64 * mib) {
  driver::SimOptions options;
  options.memory_limit = memory;
  options.find_unwritten = false;
  return driver::make_sim(options);
}

/// Enqueues work that writes the block, noted in its record; it completes with finish().
inline Point write(driver::Driver& driver, Block& block, QueueId queue = 0) {
  const driver::Region region{block.page->id, block.offset, block.bytes};
  const Point point{queue, driver.fill(queue, region, 7, 4).value()};
  block.record.note_write(block.offset, block.offset + block.bytes, point);
  return point;
}

inline void finish(driver::Driver& driver, Point point) {
  driver.submit(point.queue).value();
  ASSERT_TRUE(driver.wait_host(point.queue, point.ticket, {}).value());
}

/// The page's blocks cover it, know their neighbours, and free ones have been joined.
inline void check_cover(const Page& page) {
  std::uint64_t end = 0;
  std::uint32_t taken = 0;
  const Block* before = nullptr;
  for (const Block* block = page.first; block != nullptr; block = block->after) {
    ASSERT_EQ(block->page, &page);
    ASSERT_EQ(block->offset, end);
    ASSERT_GT(block->bytes, 0u);
    ASSERT_EQ(block->before, before);
    if (before != nullptr && before->free && !before->resting) {
      ASSERT_FALSE(block->free && !block->resting);
    }
    taken += block->free ? 0 : 1;
    end += block->bytes;
    before = block;
  }
  ASSERT_EQ(end, page.bytes);
  ASSERT_EQ(taken, page.taken);
}

}  // namespace tessera::server::testing
