// SPDX-License-Identifier: MIT OR Apache-2.0
// Interleavings that have gone wrong elsewhere, each made to happen: queues are held so that the
// dangerous order is the one that runs, and the simulator's own checker looks on.
#include <algorithm>

#include "client/sim_rig.hpp"

namespace tessera::testing {
namespace {

using driver::SimCall;
using driver::SimFault;

void search(In<u32> a, Out<u32> b) {
  Var<u32> at = 0u;
  $while(a[at] != 0) {
    at += 1u;
  }
  $if(absolute_pos < b.len()) {
    b[absolute_pos] = at;
  }
}

class Interleavings : public OnSimulator {
 protected:
  Result<std::vector<u32>> read(const Buffer<u32>& b, std::uint64_t stream) const {
    return b.download(rig.stream(stream)).get();
  }
};

TEST_F(Interleavings, ASliceReusedOnItsQueueWhileAnotherStillReadsIt) {
  const Buffer<u32> out = rig.poisoned(16);
  launch<twice>(device, Grid::over(16), rig.buffer(16, 1), rig.poisoned(16));  // compiled
  ASSERT_TRUE(device.sync().has_value());
  rig.sim->hold(1);
  {
    const Buffer<u32> slice = rig.buffer(16, 21);
    launch<twice>(rig.stream(1), Grid::over(16), slice, out);
  }
  const Buffer<u32> next = rig.poisoned(16);
  next.fill(rig.stream(0), 5);
  rig.stream(0).flush();
  rig.catch_up();
  rig.sim->release(1);
  expect_all(out, 42);
  expect_all(next, 5);
}

TEST_F(Interleavings, AReleaseDoesNotOvertakeAQueuedLaunch) {
  for (int round = 0; round < 200; ++round) {
    const Buffer<u32> out = rig.poisoned(16);
    {
      const Buffer<u32> in = device.upload(std::vector<u32>(16, static_cast<u32>(round)));
      launch<twice>(rig.stream(round % 4), Grid::over(16), in, out);
    }  // dropped while the launch may still be in the ring
    const Buffer<u32> other = rig.buffer(16, 77);
    ASSERT_EQ(values(out), std::vector<u32>(16, static_cast<u32>(round) * 2));
    expect_all(other, 77);
  }
}

TEST_F(Interleavings, AFaultOnOneQueueIsFoundByAReadThroughAnother) {
  const Buffer<u32> in = rig.buffer(16, 13), middle = rig.poisoned(16), out = rig.poisoned(16);
  launch<checked>(rig.stream(1), Grid::over(16), in, middle);
  launch<twice>(rig.stream(2), Grid::over(16), middle, out);
  const Result<std::vector<u32>> got = read(out, 2);
  ASSERT_FALSE(got.has_value());
  EXPECT_NE(got.error().root().message().find("thirteen"), std::string::npos);
  const Result<std::vector<u32>> there = read(middle, 3);
  ASSERT_FALSE(there.has_value());
  EXPECT_TRUE(there.error().same_root(got.error()));
}

TEST_F(Interleavings, AnUploadOverAFaultedOutputAndACopyOfIt) {
  rig.sim->hold(1);
  const Buffer<u32> in = rig.buffer(16, 13), out = rig.poisoned(16), copy = rig.poisoned(16);
  const Buffer<u32> after = rig.poisoned(16);
  launch<checked>(rig.stream(1), Grid::over(16), in, out);
  copy.copy_from(rig.stream(2), out);
  out.write(rig.stream(0), std::vector<u32>(16, 4));
  after.copy_from(rig.stream(3), out);
  rig.catch_up();
  rig.sim->release(1);
  expect_root(copy, ErrorKind::KernelFault, "thirteen");
  expect_all(out, 4);
  expect_all(after, 4);
}

TEST_F(Interleavings, TwoIndependentFaultsAtOnce) {
  rig.sim->hold(1);
  rig.sim->hold(2);
  const Buffer<u32> thirteen = rig.buffer(16, 13), ones = rig.buffer(16, 1);
  const Buffer<u32> a = rig.poisoned(16), b = rig.poisoned(16), c = rig.poisoned(16);
  launch<checked>(rig.stream(1), Grid::over(16), thirteen, a);
  launch<search>(rig.stream(2), Grid::over(16), ones, b);
  launch<twice>(rig.stream(3), Grid::over(16), ones, c);
  rig.catch_up();
  rig.sim->release(2);
  rig.sim->release(1);
  expect_root(b, ErrorKind::KernelFault, "search");
  expect_root(a, ErrorKind::KernelFault, "thirteen");
  expect_all(c, 2);
}

TEST_F(Interleavings, ALoopWhoseConditionReadsOutOfRangeEnds) {
  const Buffer<u32> ones = rig.buffer(16, 1), out = rig.poisoned(16);
  launch<search>(device, Grid::over(16), ones, out);
  expect_root(out, ErrorKind::KernelFault, "element 16");
}

// Queue 2 waits for what queue 1 knew when it issued the operation; what queue 1 waits for later
// must not count, or the wait for queue 3 would be left out.
TEST_F(Interleavings, AWaitJoinsTheTicketsClockNotThePresentOne) {
  const Buffer<u32> a = rig.poisoned(16), b = rig.poisoned(16), c = rig.poisoned(16);
  const Buffer<u32> seen = rig.poisoned(16);
  ASSERT_TRUE(device.sync().has_value());
  rig.sim->hold(3);
  a.fill(rig.stream(1), 1);          // ticket t of queue 1
  c.fill(rig.stream(3), 3);          // held
  b.copy_from(rig.stream(1), c);     // queue 1 waits for queue 3 after t
  seen.copy_from(rig.stream(2), a);  // queue 2 waits for t
  seen.copy_from(rig.stream(2), c);  // and must wait for queue 3 by itself
  rig.stream(2).flush();
  rig.catch_up();
  rig.sim->release(3);
  expect_all(seen, 3);
  expect_all(b, 3);
}

TEST_F(Interleavings, OneBadOperationAmongGoodOnesIsAlone) {
  std::vector<Buffer<u32>> buffers;
  for (u32 i = 0; i < 10; ++i) buffers.push_back(rig.poisoned(16));
  rig.catch_up();
  rig.sim->plan({SimCall::fill, rig.sim->calls(SimCall::fill) + 5, SimFault::late});
  for (u32 i = 0; i < 10; ++i) buffers[i].fill(rig.stream(i % 2), i);
  for (u32 i = 0; i < 10; ++i) {
    if (i == 4) {
      expect_root(buffers[i], ErrorKind::LaunchFailed, "Injected");
    } else {
      expect_all(buffers[i], i);
    }
  }
}

TEST_F(Interleavings, ADynamicCountOfZeroOverATaintedOutputLeavesItTainted) {
  const DynamicGrid none{device.upload(std::vector<u32>{0, 1, 1}), {16, 1, 1}, {4, 1, 1}};
  const Buffer<u32> in = rig.buffer(16, 13), out = rig.poisoned(16), good = rig.buffer(16, 6);
  rig.sim->hold(1);
  launch<checked>(rig.stream(1), Grid::over(16), in, out);  // not known to have failed
  launch<increment>(rig.stream(2), none, out);
  launch<increment>(rig.stream(2), none, good);
  rig.catch_up();
  rig.sim->release(1);
  expect_root(out, ErrorKind::KernelFault, "thirteen");
  expect_all(good, 6);
  launch<increment>(rig.stream(2), none, out);  // known
  expect_root(out, ErrorKind::KernelFault, "thirteen");
}

TEST_F(Interleavings, PartialOverlapOfClaims) {
  const Buffer<u32> b = rig.buffer(64, 1);
  rig.sim->hold(1);
  launch<checked>(rig.stream(1), Grid::over(32), rig.buffer(32, 13), b.slice(16, 32));
  b.slice(0, 32).fill(rig.stream(2), 2);  // over the first half of what will be tainted
  rig.catch_up();
  rig.sim->release(1);
  expect_all(b.slice(0, 32), 2);
  EXPECT_EQ(root_of(b.slice(32, 16)).kind(), ErrorKind::KernelFault);
  EXPECT_EQ(root_of(b.slice(31, 2)).kind(), ErrorKind::KernelFault);
  expect_all(b.slice(48, 16), 1);
}

TEST_F(Interleavings, ChunksOfOneBufferOnFourStreamsOverlap) {
  const Buffer<u32> b = rig.buffer(64, 1);
  ASSERT_TRUE(device.sync().has_value());
  launch<increment>(device, Grid::over(16), rig.buffer(16, 1));  // compiled
  ASSERT_TRUE(device.sync().has_value());
  const std::uint64_t waits = rig.waits();
  const std::size_t ran = rig.sim->history().size();
  for (std::uint64_t q = 0; q < 4; ++q) rig.sim->hold(static_cast<driver::QueueId>(q));
  for (int round = 0; round < 8; ++round) {
    for (std::uint64_t s = 0; s < 4; ++s) {
      launch<increment>(rig.stream(s), Grid::over(16), b.slice(s * 16, 16));
    }
  }
  rig.catch_up();
  for (std::uint64_t s = 0; s < 4; ++s) rig.stream(s).flush();
  rig.catch_up();
  for (std::uint64_t q = 0; q < 4; ++q) rig.sim->release(static_cast<driver::QueueId>(q));
  EXPECT_EQ(rig.waits(), waits);
  expect_all(b, 9);
  // Nobody waited for anybody: a queue went on while others had work of an earlier round.
  const std::vector<driver::OpId> history = rig.sim->history();
  bool interleaved = false;
  std::array<int, 4> done{};
  for (std::size_t i = ran; i < history.size(); ++i) {
    ++done[history[i].queue];
    const auto [least, most] = std::minmax_element(done.begin(), done.end());
    interleaved = interleaved || (*most >= *least + 2 && *least > 0);
  }
  EXPECT_TRUE(interleaved);
}

}  // namespace
}  // namespace tessera::testing
