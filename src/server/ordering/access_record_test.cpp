// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/ordering/access_record.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tessera::server {
namespace {

std::map<int, Ticket> points(const PointSet& set) {
  std::map<int, Ticket> out;
  for (const Point p : set) out[p.queue] = p.ticket;
  return out;
}

std::map<int, Ticket> before_read(const AccessRecord& r, std::uint64_t b, std::uint64_t e) {
  PointSet s;
  r.before_read(b, e, s);
  return points(s);
}

std::map<int, Ticket> before_write(const AccessRecord& r, std::uint64_t b, std::uint64_t e) {
  PointSet s;
  r.before_write(b, e, s);
  return points(s);
}

using Expected = std::map<int, Ticket>;

TEST(AccessRecord, ReaderWaitsForTheWriteAndWriterForBoth) {
  AccessRecord r;
  r.note_write(0, 100, {0, 5});
  r.note_read(10, 20, {1, 7});
  EXPECT_EQ(before_read(r, 0, 100), (Expected{{0, 5}}));
  EXPECT_EQ(before_write(r, 12, 13), (Expected{{0, 5}, {1, 7}}));
}

TEST(AccessRecord, DisjointRangesDoNotWaitForEachOther) {
  AccessRecord r;
  r.note_write(0, 50, {0, 1});
  r.note_write(50, 100, {1, 2});
  EXPECT_EQ(before_write(r, 0, 50), (Expected{{0, 1}}));
  EXPECT_EQ(before_write(r, 50, 100), (Expected{{1, 2}}));
  EXPECT_EQ(before_read(r, 49, 51), (Expected{{0, 1}, {1, 2}}));
}

TEST(AccessRecord, WriteReplacesOnlyWhatItCovers) {
  AccessRecord r;
  r.note_write(0, 100, {0, 1});
  r.note_write(40, 60, {1, 2});
  EXPECT_EQ(before_read(r, 0, 40), (Expected{{0, 1}}));
  EXPECT_EQ(before_read(r, 40, 60), (Expected{{1, 2}}));
  EXPECT_EQ(before_read(r, 60, 100), (Expected{{0, 1}}));
}

TEST(AccessRecord, ReadBeforeAnyWriteIsKnownToTheWriter) {
  AccessRecord r;
  r.note_read(0, 10, {2, 3});
  EXPECT_EQ(before_write(r, 0, 10), (Expected{{2, 3}}));
  EXPECT_TRUE(before_read(r, 0, 10).empty());
}

TEST(AccessRecord, SplitAndMergeKeepEverything) {
  AccessRecord r;
  r.note_write(0, 64, {0, 9});
  r.note_read(0, 64, {1, 4});
  AccessRecord left = r.clipped(0, 32), right = r.clipped(32, 64);
  EXPECT_EQ(before_write(left, 0, 32), (Expected{{0, 9}, {1, 4}}));
  left.merge(std::move(right));
  EXPECT_EQ(before_write(left, 0, 64), (Expected{{0, 9}, {1, 4}}));
}

// Against a record per byte: never a dependency less, and exactly those while no more than the
// kept number of ranges occurs.
TEST(AccessRecord, NeverForgetsADependency) {
  struct Byte {
    Expected writes, reads;
  };
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    AccessRecord r;
    std::vector<Byte> model(32);
    for (Ticket t = 1; t <= 40; ++t) {
      const std::uint64_t b = random() % 31, e = b + 1 + random() % (32 - b - 1 + 1);
      const Point p{static_cast<QueueId>(random() % 3), t};
      const bool write = random() % 2 == 0;
      PointSet needed;
      write ? r.before_write(b, e, needed) : r.before_read(b, e, needed);
      const Expected got = points(needed);
      for (std::uint64_t i = b; i < e && i < 32; ++i) {
        for (const auto& [q, at] : model[i].writes) {
          ASSERT_GE(got.count(q) ? got.at(q) : 0, at) << "seed " << seed;
        }
        if (!write) continue;
        for (const auto& [q, at] : model[i].reads) {
          ASSERT_GE(got.count(q) ? got.at(q) : 0, at) << "seed " << seed;
        }
      }
      for (std::uint64_t i = b; i < e && i < 32; ++i) {
        if (write) {
          model[i].writes = {{p.queue, t}};
          model[i].reads.clear();
        } else {
          model[i].reads[p.queue] = t;
        }
      }
      write ? r.note_write(b, e, p) : r.note_read(b, e, p);
      ASSERT_LE(r.range_count(), AccessRecord::max_ranges);
    }
  }
}

}  // namespace
}  // namespace tessera::server
