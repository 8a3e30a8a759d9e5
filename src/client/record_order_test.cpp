// SPDX-License-Identifier: MIT OR Apache-2.0
// Records of who touched what belong to bytes: they stay where ranges collapse, blocks split and
// join, pages are wanted back and slots of dynamic counts go round.
#include <gtest/gtest.h>

#include "client/sim_kernels.hpp"
#include "client/sim_rig.hpp"

namespace tessera {
namespace {

using namespace sim_kernels;

constexpr std::uint64_t n = 64;

TEST(RecordOrder, MoreRangesThanAreToldApartAreAllWaitedFor) {
  constexpr u32 chunks = 6;
  for (u32 read = 0; read < chunks; ++read) {
    const SimRig rig;
    const auto all = rig.device().alloc<u32>(chunks * n), seen = rig.poisoned(n);
    rig.ran();
    const auto ran = rig.places(0).size();
    for (const driver::QueueId q : {1, 2, 3}) rig.hold(q);
    for (u32 i = 0; i < chunks; ++i) all.slice(i * n, n).fill(rig.stream(1 + i % 3), i);
    seen.copy_from(all.slice(read * n, n));
    rig.ran();
    EXPECT_EQ(rig.places(0).size(), ran) << "chunk " << read;
    rig.release_all();
    EXPECT_EQ(values_of(seen), all_of(n, read));
    for (u32 i = 0; i < chunks; ++i) EXPECT_EQ(values_of(all.slice(i * n, n)), all_of(n, i));
  }
}

TEST(RecordOrder, ReadersOfMoreRangesThanAreToldApartAreAllWaitedFor) {
  constexpr u32 chunks = 6;
  const SimRig rig;
  const auto all = rig.device().full<u32>(chunks * n, 3u);
  std::vector<Buffer<u32>> seen;
  for (u32 i = 0; i < chunks; ++i) seen.push_back(rig.poisoned(n));
  rig.ran();
  for (const driver::QueueId q : {1, 2, 3}) rig.hold(q);
  for (u32 i = 0; i < chunks; ++i) {
    seen[i].copy_from(rig.stream(1 + i % 3), all.slice(i * n, n));
  }
  all.fill(9);
  rig.started();
  EXPECT_EQ(rig.waits(), 3u);
  for (const driver::QueueId q : {1, 3, 2}) rig.release(q);
  for (const auto& s : seen) EXPECT_EQ(values_of(s), all_of(n, 3));
  EXPECT_EQ(values_of(all), all_of(chunks * n, 9));
}

TEST(RecordOrder, PageThatWorkInFlightNamesIsNotGivenBackForAnother) {
  driver::SimOptions options;
  options.memory_limit = 3 << 16;
  const SimRig rig(options);
  const std::uint64_t page = (1 << 16) / sizeof(u32);
  auto x = rig.device().alloc<u32>(page);
  const auto seen = rig.device().alloc<u32>(page);
  x.fill(3);
  rig.ran();
  rig.hold(1);
  seen.copy_from(rig.stream(1), x);
  x = Buffer<u32>();
  const auto big = rig.device().alloc<u32>(2 * page);  // only x's page can make room
  big.fill(4);
  rig.reached();
  EXPECT_EQ(rig.server([](server::Server& s) { return s.awaiting_memory(); }), 1u);
  rig.release(1);
  EXPECT_EQ(values_of(seen), all_of(page, 3));
  EXPECT_EQ(values_of(big), all_of(2 * page, 4));
}

TEST(RecordOrder, SlotsOfDynamicCountsAreNotReusedUnderALaunch) {
  const SimRig rig;
  const auto one = rig.device().full<u32>(3, 1u),
             two = rig.device().upload(std::vector<u32>{2, 1, 1});
  const auto x = rig.device().zeros<u32>(n), y = rig.device().zeros<u32>(n);
  rig.ran();
  rig.hold(1);
  const auto bump_by = [&](std::uint64_t stream, const Buffer<u32>& count, const Buffer<u32>& b) {
    launch<bump>(rig.stream(stream), DynamicGrid{count, {16, 1, 1}, {4, 1, 1}}, b);
  };
  bump_by(1, two, x);
  for (int i = 0; i < 300; ++i) bump_by(2, one, y);  // more than there are slots
  rig.ran();
  EXPECT_LT(rig.places(2).size(), 600u);  // it stands where the first slot comes round
  rig.release(1);
  std::vector<u32> expected(n, 0);
  std::fill(expected.begin(), expected.begin() + 32, 1u);
  EXPECT_EQ(values_of(x), expected);
  std::fill(expected.begin(), expected.begin() + 16, 300u);
  std::fill(expected.begin() + 16, expected.end(), 0u);
  EXPECT_EQ(values_of(y), expected);
}

}  // namespace
}  // namespace tessera
