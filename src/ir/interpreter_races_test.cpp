// SPDX-License-Identifier: MIT OR Apache-2.0
#include "ir/interpreter_races.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tessera::ir {
namespace {

// Against a list of all accesses to one cell.
TEST(RaceTracker, AgreesWithAListOfEverything) {
  std::mt19937 random(5);
  int races = 0;
  for (int round = 0; round < 4000; ++round) {
    const bool shared = round % 2 == 0;
    RaceTracker tracker(1, shared);
    struct Past {
      Moment when;
      Touch touch;
    };
    std::vector<Past> all;
    Moment now;
    now.epoch = now.cube_begin = 1;
    for (Value n = 0; n < 12; ++n) {
      const auto step = random() % 8;
      if (step == 0) now.cube_begin = ++now.epoch;
      if (step == 1) ++now.epoch;
      now.unit = static_cast<std::uint16_t>(random() % 3);
      now.op = n;
      // Few writes, or every round would end at once.
      const auto kind = random() % 10;
      const Touch touch = kind < 5   ? Touch::read
                          : kind < 6 ? Touch::write
                          : kind < 8 ? Touch::atomic_read
                                     : Touch::atomic_write;
      bool want = false;
      for (const Past& p : all) {
        const bool same_cube = p.when.epoch >= now.cube_begin;
        const bool ordered =
            same_cube ? p.when.epoch != now.epoch || p.when.unit == now.unit : shared;
        const auto writes = [](Touch t) { return t == Touch::write || t == Touch::atomic_write; };
        const bool both_atomic = p.touch >= Touch::atomic_read && touch >= Touch::atomic_read;
        want |= !ordered && !both_atomic && (writes(p.touch) || writes(touch));
      }
      const auto got = tracker.touch(0, touch, now);
      ASSERT_EQ(got.has_value(), want) << round << " " << n;
      if (want) {
        ++races;
        ASSERT_LT(got->other.op, all.size());
        EXPECT_EQ(all[got->other.op].when.unit, got->other.unit);
        EXPECT_EQ(all[got->other.op].touch, got->touch);
        break;
      }
      all.push_back({now, touch});
    }
  }
  EXPECT_GT(races, 500);
}

}  // namespace
}  // namespace tessera::ir
