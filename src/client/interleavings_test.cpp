// SPDX-License-Identifier: MIT OR Apache-2.0
// Orders of events that have gone wrong in systems like this one. Each is made to happen: queues
// are held until everything is issued, and the order in which operations ran is looked at.
#include <gtest/gtest.h>

#include "client/sim_kernels.hpp"
#include "client/sim_rig.hpp"

namespace tessera {
namespace {

using namespace sim_kernels;

constexpr std::uint64_t n = 64;
const Grid whole({1, 1, 1}, {n, 1, 1});

// Reads on until it finds what is not there.
void search(In<u32> x, Out<u32> y) {
  Var<u32> i;
  $while(x[i] != 99) {
    i += 1;
  }
  y[unit_pos] = i;
}

// Memory

TEST(Interleavings, SliceIsDroppedAndReusedWhileAnotherQueueStillReadsIt) {
  const SimRig rig;
  auto x = rig.device().full<u32>(n, 9u);
  const auto out = rig.poisoned(n);
  rig.ran();
  rig.hold(1);
  launch<plus_one>(rig.stream(1), Grid::over(n), x, out);
  rig.issued();
  const auto taken = rig.server([](server::Server& s) { return s.memory_usage().taken; });
  const auto waits = rig.waits();
  x = Buffer<u32>();
  const auto y = rig.device().full<u32>(n, 5u);  // on queue 0, in the slice of x
  rig.ran();
  EXPECT_EQ(rig.server([](server::Server& s) { return s.memory_usage().taken; }), taken);
  EXPECT_EQ(rig.waits(), waits + 1);
  const auto before = rig.sim().history().size();
  EXPECT_TRUE(rig.places(1).empty());
  rig.release(1);
  EXPECT_EQ(values_of(out), all_of(n, 10));
  EXPECT_EQ(values_of(y), all_of(n, 5));
  // The read that was issued first ran first; the fill came after it.
  EXPECT_EQ(rig.sim().history()[before], (driver::OpId{1, 1}));
}

TEST(Interleavings, SliceThatIsReusedOnItsOwnQueueNeedsNoWait) {
  const SimRig rig;
  rig.hold(0);
  auto x = rig.device().full<u32>(n, 9u);
  const auto out = rig.poisoned(n);
  launch<plus_one>(rig.device(), Grid::over(n), x, out);
  x = Buffer<u32>();
  const auto y = rig.device().full<u32>(n, 5u);
  rig.issued();
  rig.release(0);
  EXPECT_EQ(values_of(out), all_of(n, 10));
  EXPECT_EQ(values_of(y), all_of(n, 5));
  EXPECT_EQ(rig.waits(), 0u);
}

TEST(Interleavings, ReleaseDoesNotOvertakeTheCommandsThatWereQueuedBeforeIt) {
  const SimRig rig;
  const auto out = rig.poisoned(n);
  auto x = rig.device().full<u32>(n, 9u);
  launch<plus_one>(rig.device(), Grid::over(n), x, out);  // the kernel is ready from here on
  rig.ran();
  Buffer<u32> y;
  rig.server([&](server::Server&) {
    // While this runs the executor executes nothing: launch, drop and reuse are all queued.
    launch<bump>(rig.stream(1), Grid::over(n), x);
    launch<plus_one>(rig.stream(1), Grid::over(n), x, out);
    x = Buffer<u32>();
    y = rig.device().full<u32>(n, 5u);
  });
  EXPECT_EQ(values_of(out), all_of(n, 11));
  EXPECT_EQ(values_of(y), all_of(n, 5));
  y = Buffer<u32>();
  rig.started();
  EXPECT_EQ(rig.server([](server::Server& s) { return s.memory_usage().live; }), 1u);
}

TEST(Interleavings, ReleaseDoesNotOvertakeALaunchThatWaitsForItsKernel) {
  detail::CoreConfig config = SimRig::small_pages();
  config.compile_threads = 0;  // nothing compiles until it is told to
  const SimRig rig({}, config);
  const auto out = rig.poisoned(n);
  auto x = rig.device().full<u32>(n, 9u);
  launch<plus_one>(rig.stream(1), Grid::over(n), x, out);
  x = Buffer<u32>();
  const auto y = rig.device().full<u32>(n, 5u);  // may take the slice, must wait for the launch
  const auto z = rig.device().full<u32>(n, 6u);
  rig.reached();
  EXPECT_GT(rig.server([](server::Server& s) { return s.parked(); }), 0u);
  while (rig.core().loader().compile_next()) {
  }
  rig.core().executor().wake();
  EXPECT_EQ(values_of(out), all_of(n, 10));
  EXPECT_EQ(values_of(y), all_of(n, 5));
  EXPECT_EQ(values_of(z), all_of(n, 6));
}

// Faults across queues

TEST(Interleavings, FaultOnOneQueueIsFoundByTheDownloadOfAnother) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    driver::SimOptions options;
    options.seed = seed;
    options.late_news = true;
    const SimRig rig(options);
    const Stream a = rig.stream(1), b = rig.stream(2);
    const auto x = rig.device().full<u32>(n, 1u);
    const auto y = rig.poisoned(n), z = rig.poisoned(n);
    rig.ran();
    rig.hold(1);
    launch<reads_past>(a, whole, x, y);
    launch<plus_one>(b, Grid::over(n), y, z);
    auto pending = z.download(b);
    rig.started();
    rig.release(1);
    const auto got = std::move(pending).get();
    ASSERT_FALSE(got) << "seed " << seed;
    EXPECT_EQ(got.error().root().kind(), ErrorKind::KernelFault) << got.error().full();
    EXPECT_TRUE(contains(got.error().root().message(), "read element 64"));
    EXPECT_TRUE(got.error().root().same_root(root_of(y)));
    // The bytes were downloaded after the launch of B, which came after that of A.
    const auto at_a = rig.places(1), at_b = rig.places(2);
    ASSERT_EQ(at_a.size(), 1u);
    ASSERT_GE(at_b.size(), 2u);
    EXPECT_LT(at_a[0], at_b[0]);
    EXPECT_EQ(values_of(x), all_of(n, 1));
  }
}

TEST(Interleavings, UploadOverwritesAFaultedOutputThatWasCopiedBefore) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    driver::SimOptions options;
    options.seed = seed;
    options.late_news = seed % 2 == 0;
    const SimRig rig(options);
    const auto x = rig.device().full<u32>(n, 1u);
    const auto y = rig.poisoned(n), copy = rig.poisoned(n), used = rig.poisoned(n);
    rig.ran();
    for (const driver::QueueId q : {1, 2, 3}) rig.hold(q);
    launch<reads_past>(rig.stream(1), whole, x, y);
    copy.copy_from(rig.stream(2), y);
    y.write(rig.stream(3), all_of(n, 5));
    launch<plus_one>(rig.stream(1), Grid::over(n), y, used);
    rig.started();
    for (const driver::QueueId q : {3, 2, 1}) rig.release(q);
    EXPECT_EQ(values_of(y), all_of(n, 5));
    EXPECT_EQ(values_of(used), all_of(n, 6));
    EXPECT_EQ(root_of(copy).kind(), ErrorKind::KernelFault);
    EXPECT_TRUE(y.status());
  }
}

TEST(Interleavings, CopyOfAFaultedOutputThatWasOverwrittenBeforeIsClean) {
  const SimRig rig;
  const auto x = rig.device().full<u32>(n, 1u);
  const auto y = rig.poisoned(n), copy = rig.poisoned(n);
  rig.ran();
  rig.hold(1);
  launch<reads_past>(rig.stream(1), whole, x, y);
  y.write(rig.stream(2), all_of(n, 5));
  copy.copy_from(rig.stream(3), y);
  rig.started();
  rig.release(1);
  EXPECT_EQ(values_of(copy), all_of(n, 5));
  EXPECT_EQ(values_of(y), all_of(n, 5));
}

TEST(Interleavings, TwoIndependentFaultsAtOnceKeepTheirRoots) {
  const SimRig rig;
  const auto x = rig.device().full<u32>(n, 1u), zero = rig.device().zeros<u32>(n);
  const auto y = rig.poisoned(n), z = rig.poisoned(n), both = rig.poisoned(n);
  const auto swapped = rig.poisoned(n), difference = rig.poisoned(n), third = rig.poisoned(n);
  rig.ran();
  rig.hold(1);
  rig.hold(2);
  launch<reads_past>(rig.stream(1), whole, x, y);
  launch<not_zero>(rig.stream(2), Grid::over(n), zero, z);
  launch<sum_and_difference>(rig.stream(3), Grid::over(n), y, z, both, difference);
  launch<sum_and_difference>(rig.stream(3), Grid::over(n), z, y, swapped, difference);
  launch<sevens>(rig.stream(3), Grid::over(n), third);
  rig.started();
  rig.release(2);  // the later fault happens first, and is found first
  rig.ran();
  rig.started();
  EXPECT_FALSE(z.status());
  EXPECT_TRUE(y.status());
  rig.release(1);
  const Error of_y = root_of(y), of_z = root_of(z);
  EXPECT_TRUE(contains(of_y.message(), "read element 64")) << of_y.full();
  EXPECT_TRUE(contains(of_z.message(), "the first element is not zero")) << of_z.full();
  EXPECT_FALSE(of_y.same_root(of_z));
  EXPECT_TRUE(root_of(both).same_root(of_y));
  EXPECT_TRUE(root_of(swapped).same_root(of_z));
  EXPECT_TRUE(root_of(difference).same_root(of_z));
  EXPECT_EQ(values_of(third), all_of(n, 7));
}

TEST(Interleavings, LoopWhoseConditionReadsOutOfRangeEndsAsAFault) {
  const SimRig rig;
  const auto x = rig.device().full<u32>(n, 1u), out = rig.poisoned(2 * n);
  launch<search>(rig.device(), Grid({1, 1, 1}, {n, 1, 1}), x, out.slice(0, n));
  const Error root = root_of(out.slice(0, n));
  EXPECT_EQ(root.kind(), ErrorKind::KernelFault) << root.full();
  EXPECT_TRUE(contains(root.message(), "read element 64")) << root.full();
  EXPECT_EQ(values_of(out.slice(n, n)), all_of(n, poison));
  x.slice(7, 1).fill(99);
  launch<search>(rig.device(), Grid({1, 1, 1}, {n, 1, 1}), x, out.slice(0, n));
  EXPECT_EQ(values_of(out.slice(0, n)), all_of(n, 7));
}

TEST(Interleavings, OneBadCommandAmongGoodOnesFailsAlone) {
  for (std::uint64_t bad = 0; bad < 12; ++bad) {
    const SimRig rig;
    std::vector<Buffer<u32>> buffers;
    for (int i = 0; i < 12; ++i) buffers.push_back(rig.poisoned(n));
    rig.ran();
    for (driver::QueueId q = 0; q < 4; ++q) rig.hold(q);
    rig.sim().plan(
        {SimRig::Call::fill, rig.sim().calls(SimRig::Call::fill) + bad + 1, SimRig::Fault::late});
    for (u32 i = 0; i < 12; ++i) buffers[i].fill(rig.stream(i % 4), i);
    rig.started();
    rig.release_all();
    for (u32 i = 0; i < 12; ++i) {
      if (i == bad) {
        EXPECT_TRUE(contains(root_of(buffers[i]).message(), "spoiled operation"));
      } else {
        EXPECT_EQ(values_of(buffers[i]), all_of(n, i));
      }
    }
  }
}

TEST(Interleavings, DynamicCountOfZeroOverAnOutputThatFaultsElsewhereLeavesTheFault) {
  const SimRig rig;
  const auto x = rig.device().full<u32>(n, 1u), count = rig.device().zeros<u32>(3);
  const auto y = rig.poisoned(n), z = rig.poisoned(n);
  rig.ran();
  rig.hold(1);
  launch<reads_past>(rig.stream(1), whole, x, y);
  const DynamicGrid none{count, {n, 1, 1}, {4, 1, 1}};
  launch<sevens>(rig.stream(2), none, y);
  launch<sevens>(rig.stream(2), none, z);
  rig.started();
  rig.release(1);
  EXPECT_EQ(root_of(y).kind(), ErrorKind::KernelFault);
  EXPECT_TRUE(contains(root_of(y).message(), "read element 64"));
  EXPECT_EQ(values_of(z), all_of(n, poison));  // nothing ran, nothing failed
}

TEST(Interleavings, ClaimsThatOverlapInPartLeaveEachItsOwnBytes) {
  const SimRig rig;
  const auto x = rig.device().full<u32>(32, 1u), zero = rig.device().zeros<u32>(32);
  const auto all = rig.poisoned(n);
  rig.ran();
  rig.hold(1);
  rig.hold(2);
  launch<reads_past>(rig.stream(1), Grid({1, 1, 1}, {32, 1, 1}), x, all.slice(0, 32));
  launch<not_zero>(rig.stream(2), Grid::over(32), zero, all.slice(16, 32));
  rig.started();
  EXPECT_EQ(rig.waits(), 1u);  // the second writes after the first
  rig.release(2);
  rig.release(1);
  EXPECT_TRUE(contains(root_of(all.slice(0, 16)).message(), "read element 32"));
  EXPECT_TRUE(contains(root_of(all.slice(16, 16)).message(), "not zero"));
  EXPECT_TRUE(contains(root_of(all.slice(32, 16)).message(), "not zero"));
  EXPECT_TRUE(contains(root_of(all).message(), "read element 32"));
  EXPECT_EQ(values_of(all.slice(48, 16)), all_of(16, poison));
}

// Waits

TEST(Interleavings, WaitJoinsTheClockOfItsTicketAndNotWhatItsQueueLearnedSince) {
  const SimRig rig;
  const Stream a = rig.stream(1), b = rig.stream(2), c = rig.stream(3);
  const auto x = rig.poisoned(n), w = rig.poisoned(n), sink = rig.poisoned(n);
  const auto from_x = rig.poisoned(n), from_w = rig.poisoned(n);
  rig.ran();
  rig.hold(1);
  rig.hold(3);
  x.fill(a, 1);            // A:1
  w.fill(c, 2);            // C:1
  sink.copy_from(a, w);    // A:2 waits for C:1
  from_x.copy_from(b, x);  // B:1 waits for A:1, which knows nothing of C
  from_w.copy_from(b, w);  // B:2 must wait for C:1 by itself
  rig.started();
  EXPECT_EQ(rig.waits(), 3u);
  rig.release(1);
  rig.ran();
  // A:1 and B:1 ran; all else waits for C.
  EXPECT_EQ(rig.places(1).size(), 1u);
  EXPECT_EQ(rig.places(2).size(), 1u);
  EXPECT_TRUE(rig.places(3).empty());
  rig.release(3);
  EXPECT_EQ(values_of(from_w), all_of(n, 2));
  EXPECT_EQ(values_of(from_x), all_of(n, 1));
  EXPECT_EQ(values_of(sink), all_of(n, 2));
}

TEST(Interleavings, WaitThatAnotherWaitImpliesIsLeftOut) {
  const SimRig rig;
  const Stream a = rig.stream(1), b = rig.stream(2), c = rig.stream(3);
  const auto w = rig.poisoned(n), x = rig.poisoned(n), out = rig.poisoned(n);
  const auto again = rig.poisoned(n);
  rig.ran();
  for (const driver::QueueId q : {1, 2, 3}) rig.hold(q);
  w.fill(c, 2);           // C:1
  x.copy_from(a, w);      // A:1 waits for C:1
  out.copy_from(b, x);    // B:1 waits for A:1, and so for C:1
  again.copy_from(b, w);  // B:2 need not wait again
  rig.issued();
  EXPECT_EQ(rig.waits(), 2u);
  for (const driver::QueueId q : {2, 1, 3}) rig.release(q);
  EXPECT_EQ(values_of(again), all_of(n, 2));
  EXPECT_EQ(values_of(out), all_of(n, 2));
}

// Overlap

TEST(Interleavings, ChunksOfOneBufferOverFourStreamsOverlap) {
  constexpr u32 rounds = 8;
  const SimRig rig;
  const auto all = rig.poisoned(4 * n);
  all.fill(0);
  rig.ran();
  ASSERT_TRUE(rig.device().sync());
  const auto waits = rig.waits();
  const auto before = rig.sim().history().size();
  for (u32 round = 0; round < rounds; ++round) {
    for (u32 q = 0; q < 4; ++q) {
      launch<bump>(rig.stream(q), Grid::over(n), all.slice(q * n, n));
    }
  }
  rig.ran();
  EXPECT_EQ(rig.waits(), waits);
  // Interleaved rather than one queue after the other.
  const auto history = rig.sim().history();
  ASSERT_EQ(history.size(), before + 4 * rounds);
  std::size_t changes = 0;
  for (std::size_t i = before + 1; i < history.size(); ++i) {
    changes += history[i].queue != history[i - 1].queue ? 1 : 0;
  }
  EXPECT_GT(changes, 6u);
  EXPECT_EQ(values_of(all), all_of(4 * n, rounds));
}

TEST(Interleavings, ChunkWhoseStreamStandsStillHoldsBackNoOther) {
  const SimRig rig;
  const auto all = rig.device().full<u32>(4 * n, 0u);
  rig.ran();
  ASSERT_TRUE(rig.device().sync());
  rig.hold(2);
  for (u32 q = 0; q < 4; ++q) {
    for (int i = 0; i < 5; ++i) {
      launch<bump>(rig.stream(q), Grid::over(n), all.slice(q * n, n));
    }
  }
  rig.ran();
  EXPECT_EQ(rig.waits(), 0u);
  EXPECT_EQ(rig.places(1).size(), 5u);
  EXPECT_TRUE(rig.places(2).empty());
  EXPECT_EQ(rig.places(3).size(), 5u);
  EXPECT_EQ(values_of(all.slice(0, n)), all_of(n, 5));
  EXPECT_EQ(values_of(all.slice(3 * n, n)), all_of(n, 5));
  rig.release(2);
  EXPECT_EQ(values_of(all), all_of(4 * n, 5));
}

TEST(Interleavings, ReadersOfOneBufferOverlapAndAWriterComesAfterAllOfThem) {
  const SimRig rig;
  const auto x = rig.device().full<u32>(n, 3u);
  std::vector<Buffer<u32>> outs;
  for (int i = 0; i < 3; ++i) outs.push_back(rig.poisoned(n));
  rig.ran();
  for (const driver::QueueId q : {1, 2, 3}) rig.hold(q);
  for (u32 q = 1; q <= 3; ++q) {
    launch<plus_one>(rig.stream(q), Grid::over(n), x, outs[q - 1]);
  }
  rig.issued();
  EXPECT_EQ(rig.waits(), 0u);
  const auto ran = rig.places(0).size();
  x.fill(9);
  rig.started();
  EXPECT_EQ(rig.waits(), 3u);
  rig.release(3);
  rig.ran();
  rig.release(1);
  rig.ran();
  EXPECT_EQ(rig.places(0).size(), ran);  // one reader is left
  rig.release(2);
  rig.ran();
  EXPECT_EQ(rig.places(0).size(), ran + 1);
  for (const auto& out : outs) EXPECT_EQ(values_of(out), all_of(n, 4));
  EXPECT_EQ(values_of(x), all_of(n, 9));
}

}  // namespace
}  // namespace tessera
