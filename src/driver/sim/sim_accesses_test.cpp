// SPDX-License-Identifier: MIT OR Apache-2.0
#include "driver/sim/sim_accesses.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace tessera::driver {
namespace {

TEST(SimAccesses, OrderedAccessesAreFine) {
  AccessMap map;
  EXPECT_FALSE(map.touch(0, 64, true, {0, 1}, {1, 0}));
  EXPECT_FALSE(map.touch(0, 64, false, {0, 2}, {2, 0}));
  EXPECT_FALSE(map.touch(16, 32, true, {1, 1}, {2, 1}));
}

TEST(SimAccesses, UnorderedConflictsAreFoundWithTheirBytes) {
  AccessMap map;
  map.touch(0, 64, true, {0, 1}, {1, 0});
  const auto clash = map.touch(60, 100, false, {1, 1}, {0, 1});
  ASSERT_TRUE(clash);
  EXPECT_EQ(clash->other, (OpId{0, 1}));
  EXPECT_TRUE(clash->other_writes);
  EXPECT_EQ(clash->begin, 60u);
  EXPECT_EQ(clash->end, 64u);
  EXPECT_FALSE(map.touch(64, 100, true, {1, 2}, {0, 2}));
}

TEST(SimAccesses, AWriterNeedsEveryReader) {
  AccessMap map;
  map.touch(0, 8, false, {0, 1}, {1, 0, 0});
  EXPECT_FALSE(map.touch(0, 8, false, {1, 1}, {0, 1, 0}));
  auto other = map;
  EXPECT_TRUE(map.touch(0, 8, true, {2, 1}, {1, 0, 1}));
  EXPECT_FALSE(other.touch(0, 8, true, {2, 1}, {1, 1, 1}));
}

// Against a list of all accesses, byte by byte.
TEST(SimAccesses, AgreesWithAListOfEverything) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    AccessMap map;
    struct Past {
      std::uint64_t begin, end;
      bool writes;
      OpId op;
    };
    std::vector<Past> all;
    std::vector<Clock> queues(3, Clock(3));
    for (int n = 0; n < 30; ++n) {
      const auto q = static_cast<QueueId>(random() % 3);
      if (random() % 2 == 0) join(queues[q], queues[random() % 3]);
      ++queues[q][q];
      const std::uint64_t begin = random() % 20, end = begin + 1 + random() % 8;
      const bool writes = random() % 2 == 0;
      bool want = false;
      for (const Past& p : all) {
        want |= p.begin < end && begin < p.end && (p.writes || writes) &&
                p.op.ticket > queues[q][p.op.queue];
      }
      const bool got = map.touch(begin, end, writes, {q, queues[q][q]}, queues[q]).has_value();
      ASSERT_EQ(got, want) << round << " " << n;
      if (want) break;  // afterwards the map may forget what it reported
      all.push_back({begin, end, writes, {q, queues[q][q]}});
    }
  }
}

}  // namespace
}  // namespace tessera::driver
