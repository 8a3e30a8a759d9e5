// SPDX-License-Identifier: MIT OR Apache-2.0
// What goes wrong where order is kept by allocation cursors and origins of buffers, each as a test
// that it does not go wrong here. Queues stand still while the order is made, so that a wait that
// is missing shows in the values, in the simulator's findings or in the count of waits.
#include <gtest/gtest.h>

#include "client/sim_kernels.hpp"
#include "client/sim_rig.hpp"

namespace tessera {
namespace {

using namespace sim_kernels;

constexpr std::uint64_t n = 64;

// After one wait for the other stream, its later writes are waited for again. W-1
void expect_every_write_is_waited_for(std::uint64_t count) {
  const SimRig rig;
  const Stream origin = rig.stream(1), reader = rig.stream(2);
  const auto x = rig.device().alloc<u32>(count);
  x.fill(origin, poison);
  rig.ran();
  for (u32 round = 1; round <= 4; ++round) {
    const auto copy = rig.device().alloc<u32>(count);
    rig.hold(1);
    x.fill(origin, round);
    copy.copy_from(reader, x);
    rig.started();
    const auto ran = rig.places(2).size();
    rig.ran();
    EXPECT_EQ(rig.places(2).size(), ran) << "the copy ran before what it copies was written";
    rig.release(1);
    EXPECT_EQ(values_of(copy), all_of(count, round));
    EXPECT_GE(rig.waits(), round);
  }
}

TEST(OrderingRules, LaterWritesOfAStreamAreWaitedForAgain) {
  expect_every_write_is_waited_for(n);
}

// The same where the buffer has a page of its own. W-3
TEST(OrderingRules, LaterWritesToABufferWithItsOwnPageAreWaitedForAgain) {
  const std::uint64_t count = 1 << 16;  // elements: more than a page, which it has to itself
  expect_every_write_is_waited_for(count);
}

// Whoever wrote the bytes is waited for, not whoever made the buffer. W-2
TEST(OrderingRules, OwnerReadsWhatAKernelOfAnotherStreamWrote) {
  const SimRig rig;
  const auto x = rig.device().full<u32>(n, 1u), seen = rig.poisoned(n);
  rig.ran();
  rig.hold(1);
  launch<bump>(rig.stream(1), Grid::over(n), x);
  seen.copy_from(x);
  rig.started();
  EXPECT_EQ(rig.waits(), 1u);
  rig.release(1);
  EXPECT_EQ(values_of(seen), all_of(n, 2));
}

TEST(OrderingRules, OwnerWritesAfterAnotherStreamHasRead) {
  const SimRig rig;
  const auto x = rig.device().full<u32>(n, 1u), seen = rig.poisoned(n);
  rig.ran();
  rig.hold(1);
  launch<plus_one>(rig.stream(1), Grid::over(n), x, seen);
  rig.issued();
  const auto ran = rig.places(0).size();
  x.fill(9);
  rig.ran();
  EXPECT_EQ(rig.waits(), 1u);
  EXPECT_EQ(rig.places(0).size(), ran);
  rig.release(1);
  EXPECT_EQ(values_of(seen), all_of(n, 2));
  EXPECT_EQ(values_of(x), all_of(n, 9));
}

TEST(OrderingRules, ThirdStreamSeesTheChainOfTwoOthers) {
  const SimRig rig;
  const auto x = rig.device().full<u32>(n, 1u);
  rig.ran();
  for (const driver::QueueId q : {1, 2, 3}) rig.hold(q);
  launch<bump>(rig.stream(1), Grid::over(n), x);
  launch<bump>(rig.stream(2), Grid::over(n), x);
  launch<bump>(rig.stream(3), Grid::over(n), x);
  auto pending = x.download(rig.stream(0));
  rig.started();
  for (const driver::QueueId q : {3, 2, 1}) rig.release(q);
  EXPECT_EQ(std::move(pending).get().value(), all_of(n, 4));
}

// Streams that share a queue are one order already. W-4
TEST(OrderingRules, StreamsOnOneQueueNeedNoWait) {
  const SimRig rig;  // four queues, eight streams
  const auto x = rig.device().full<u32>(n, 1u);
  rig.ran();
  rig.hold(1);
  for (const std::uint64_t s : {1, 5, 9, 13, 1, 5}) launch<bump>(rig.stream(s), Grid::over(n), x);
  rig.issued();
  EXPECT_EQ(rig.waits(), 0u);
  EXPECT_EQ(rig.sim().calls(SimRig::Call::wait), 0u);
  rig.release(1);
  EXPECT_EQ(values_of(x), all_of(n, 7));
}

TEST(OrderingRules, StreamsAreServedByTheQueueOfTheirNumber) {
  const SimRig rig;
  for (std::uint64_t s = 0; s < 20; ++s) {
    EXPECT_EQ(rig.server([&](server::Server& server) { return server.queue_of(s); }), s % 8 % 4);
  }
}

// A wait that fails is a failure of the bytes, not the end of the service. W-5
TEST(OrderingRules, WaitThatFailsTaintsWhatWasToBeWrittenAndServiceGoesOn) {
  const SimRig rig;
  const auto x = rig.poisoned(n), y = rig.poisoned(n);
  rig.ran();
  rig.hold(1);
  x.fill(rig.stream(1), 1);
  rig.next(SimRig::Call::wait, SimRig::Fault::fail);
  y.copy_from(rig.stream(2), x);
  rig.issued();
  EXPECT_TRUE(contains(root_of(y).message(), "at wait "));
  y.copy_from(rig.stream(2), x);
  rig.started();
  rig.release(1);
  EXPECT_EQ(values_of(y), all_of(n, 1));
}

TEST(OrderingRules, AnyNumberOfWaitsIsIssuedWithoutTheDevice) {
  const SimRig rig;
  const auto x = rig.device().full<u32>(n, 0u);
  rig.ran();
  rig.hold(1);
  for (int i = 0; i < 200; ++i) {
    launch<bump>(rig.stream(1), Grid::over(n), x);
    launch<bump>(rig.stream(2), Grid::over(n), x);
  }
  rig.issued();  // comes back although nothing of it can run
  EXPECT_EQ(rig.waits(), 399u);
  EXPECT_TRUE(rig.places(1).empty());
  rig.release(1);
  EXPECT_EQ(values_of(x), all_of(n, 400));
}

// The count is bytes like all others: ordered, and safe after its last handle. W-6
TEST(OrderingRules, DynamicCountOfAnotherStreamIsWaitedFor) {
  const SimRig rig;
  const auto count = rig.device().zeros<u32>(3), out = rig.poisoned(n);
  rig.ran();
  rig.hold(1);
  count.fill(rig.stream(1), 1);
  launch<sevens>(rig.stream(2), DynamicGrid{count, {n, 1, 1}, {4, 1, 1}}, out);
  rig.ran();
  EXPECT_TRUE(rig.places(2).empty());
  rig.release(1);
  EXPECT_EQ(values_of(out), all_of(n, 7));
}

TEST(OrderingRules, DynamicCountIsReadBeforeItsMemoryIsReused) {
  const SimRig rig;
  auto count = rig.device().full<u32>(3, 1u);
  const auto out = rig.poisoned(n);
  rig.ran();
  rig.hold(2);
  launch<sevens>(rig.stream(2), DynamicGrid{count, {n, 1, 1}, {4, 1, 1}}, out);
  count = Buffer<u32>();
  const auto next = rig.device().full<u32>(3, 77u);  // in its place
  rig.ran();
  rig.release(2);
  EXPECT_EQ(values_of(out), all_of(n, 7));
  EXPECT_EQ(values_of(next), all_of(3, 77));
}

TEST(OrderingRules, DynamicCountIsWrittenAgainAfterItWasRead) {
  const SimRig rig;
  const auto count = rig.device().full<u32>(3, 1u), out = rig.poisoned(n);
  rig.ran();
  rig.hold(2);
  launch<sevens>(rig.stream(2), DynamicGrid{count, {n, 1, 1}, {4, 1, 1}}, out);
  rig.issued();
  count.fill(rig.stream(1), 0);
  rig.ran();
  EXPECT_TRUE(rig.places(1).empty());
  rig.release(2);
  EXPECT_EQ(values_of(out), all_of(n, 7));
  EXPECT_EQ(values_of(count), all_of(3, 0));
}

// Reads and writes on any stream, of buffers of any stream. W-7
TEST(OrderingRules, ReadOnAForeignStreamSeesWhatTheOwnerHasQueued) {
  const SimRig rig;
  const auto x = rig.device().alloc<u32>(n);
  rig.hold(1);
  x.fill(rig.stream(1), 3);
  launch<bump>(rig.stream(1), Grid::over(n), x);
  auto pending = x.download(rig.stream(3));
  rig.ran();
  EXPECT_FALSE(pending.ready());
  rig.release(1);
  EXPECT_EQ(std::move(pending).get().value(), all_of(n, 4));
}

TEST(OrderingRules, WriteOnAForeignStreamComesAfterWhatTheOwnerHasQueued) {
  const SimRig rig;
  const auto x = rig.device().alloc<u32>(n), seen = rig.poisoned(n);
  rig.ran();
  rig.hold(1);
  x.fill(rig.stream(1), 3);
  seen.copy_from(rig.stream(1), x);
  x.write(rig.stream(2), all_of(n, 8));
  rig.ran();
  EXPECT_TRUE(rig.places(2).empty());
  rig.release(1);
  EXPECT_EQ(values_of(seen), all_of(n, 3));
  EXPECT_EQ(values_of(x), all_of(n, 8));
}

TEST(OrderingRules, ReadIsOfItsPlaceInTheOrderAndNotOfTheLatest) {
  const SimRig rig;
  const auto x = rig.device().full<u32>(n, 3u);
  rig.ran();
  rig.hold(3);
  auto pending = x.download(rig.stream(3));
  x.fill(rig.stream(1), 4);
  rig.ran();
  EXPECT_TRUE(rig.places(1).empty());
  rig.release(3);
  EXPECT_EQ(std::move(pending).get().value(), all_of(n, 3));
  EXPECT_EQ(values_of(x), all_of(n, 4));
}

// One set of rules, however many queues there are. W-40
TEST(OrderingRules, ResultsAreThoseOfOneQueueWithAnyNumberOfQueues) {
  std::vector<u32> expected;
  for (const std::uint32_t queues : {1u, 2u, 3u, 4u, 8u}) {
    driver::SimOptions options;
    options.queues = queues;
    const SimRig rig(options);
    std::vector<Buffer<u32>> buffers;
    for (u32 i = 0; i < 6; ++i) buffers.push_back(rig.device().full<u32>(n, i));
    for (u32 step = 0; step < 60; ++step) {
      const Stream stream = rig.stream(step * 7 % 11);
      const auto &a = buffers[step * 5 % 6], &b = buffers[(step * 5 + 1 + step % 4) % 6];
      if (step % 3 == 0) {
        a.copy_from(stream, b);
      } else {
        launch<add_into>(stream, Grid::over(n), a, b);
      }
    }
    std::vector<u32> got;
    for (const auto& buffer : buffers) got.push_back(values_of(buffer)[0]);
    if (expected.empty()) {
      expected = got;
      EXPECT_EQ(rig.waits(), 0u);
    }
    EXPECT_EQ(got, expected) << queues << " queues";
  }
}

// Memory belongs to the device: what one stream gives back any other may use at once. W-44
TEST(OrderingRules, StreamsShareThePagesOfTheDevice) {
  const SimRig rig;
  std::vector<Buffer<u32>> buffers;
  for (u32 s = 0; s < 8; ++s) {
    buffers.push_back(rig.device().alloc<u32>(n));
    buffers.back().fill(rig.stream(s), s);
  }
  rig.issued();
  EXPECT_EQ(rig.device().memory().pools.front().pages, 1u);
  for (u32 s = 0; s < 8; ++s) EXPECT_EQ(values_of(buffers[s]), all_of(n, s));
}

TEST(OrderingRules, MemoryOfAnIdleStreamServesAnother) {
  driver::SimOptions options;
  options.memory_limit = 3 << 16;
  const SimRig rig(options);
  const std::uint64_t most = (2 << 16) / sizeof(u32);  // of three pages; there is room for one such
  auto x = rig.device().alloc<u32>(most);
  x.fill(rig.stream(1), 1);
  EXPECT_EQ(values_of(x), all_of(most, 1));
  x = Buffer<u32>();
  for (u32 s = 2; s < 8; ++s) {
    const auto y = rig.device().alloc<u32>(most);
    y.fill(rig.stream(s), s);
    EXPECT_EQ(values_of(y), all_of(most, s));
  }
}

// In every kind of pool, also in those whose blocks are whole pages.
TEST(OrderingRules, ReuseWaitsForEarlierOwnersInEveryPool) {
  for (const MemoryLayout& layout :
       {MemoryLayout::adaptive(), MemoryLayout::sub_slices(), MemoryLayout::exclusive_pages(),
        MemoryLayout::custom({DirectPool{}})}) {
    const SimRig rig;
    ASSERT_TRUE(rig.device().install(layout).has_value());
    const auto sink = rig.poisoned(1000);
    rig.ran();
    rig.hold(1);
    {
      const auto first = rig.device().full<u32>(1000, 1u);
      sink.copy_from(rig.stream(1), first);
    }
    const auto second = rig.device().alloc<u32>(1000);
    second.fill(rig.stream(2), 2);
    rig.started();
    rig.release(1);
    EXPECT_EQ(values_of(second), all_of(1000, 2));
    EXPECT_EQ(values_of(sink), all_of(1000, 1));
  }
}

}  // namespace
}  // namespace tessera
