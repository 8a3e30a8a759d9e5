// SPDX-License-Identifier: MIT OR Apache-2.0
// Rules of ordering that servers of this kind have broken: who was the last to write, what reuse
// must wait for, and what must cost nothing.
#include <thread>

#include "client/sim_rig.hpp"

namespace tessera::testing {
namespace {

using driver::SimCall;
using driver::SimFault;

class OrderingRules : public OnSimulator {};

// Having waited once for a buffer's maker is no licence for its later writes.
TEST_F(OrderingRules, LaterWritesOfAnotherStreamAreWaitedForToo) {
  const Buffer<u32> shared = rig.buffer(16, 0);
  for (u32 i = 1; i <= 20; ++i) {
    shared.fill(rig.stream(1), i);
    const Buffer<u32> seen = rig.poisoned(16);
    seen.copy_from(rig.stream(2), shared);
    Result<std::vector<u32>> got = seen.download(rig.stream(2)).get();
    ASSERT_TRUE(got.has_value());
    ASSERT_EQ(*got, std::vector<u32>(16, i));
  }
}

// The producer is whoever wrote last, not whoever made the buffer.
TEST_F(OrderingRules, AWriterThatDidNotMakeTheBufferIsKnown) {
  const Buffer<u32> made_on_0 = rig.buffer(16, 1), seen = rig.poisoned(16);
  ASSERT_TRUE(device.sync().has_value());
  rig.sim->hold(1);
  made_on_0.fill(rig.stream(1), 7);
  seen.copy_from(rig.stream(2), made_on_0);
  rig.stream(2).flush();
  rig.catch_up();
  rig.sim->release(1);
  expect_all(seen, 7);
}

TEST_F(OrderingRules, AWriterWaitsForReadersOnOtherStreams) {
  const Buffer<u32> b = rig.buffer(16, 4), seen = rig.poisoned(16);
  ASSERT_TRUE(device.sync().has_value());
  rig.sim->hold(1);
  seen.copy_from(rig.stream(1), b);
  b.fill(rig.stream(2), 9);
  rig.stream(2).flush();
  rig.catch_up();
  rig.sim->release(1);
  expect_all(seen, 4);
  expect_all(b, 9);
}

// In every kind of pool, also those whose blocks are whole pages.
TEST_F(OrderingRules, ReuseWaitsInEveryPool) {
  for (const MemoryLayout& layout :
       {MemoryLayout::adaptive(), MemoryLayout::sub_slices(), MemoryLayout::exclusive_pages(),
        MemoryLayout::custom({DirectPool{}})}) {
    ASSERT_TRUE(device.install(layout).has_value());
    const Buffer<u32> sink = rig.poisoned(1000);
    ASSERT_TRUE(device.sync().has_value());
    rig.sim->hold(1);
    {
      const Buffer<u32> first = rig.buffer(1000, 1);
      sink.copy_from(rig.stream(1), first);
    }
    {
      const StreamScope scope(rig.stream(2));
      const Buffer<u32> second = rig.buffer(1000, 2);
      rig.stream(2).flush();
      rig.catch_up();
      rig.sim->release(1);
      expect_all(second, 2);
    }
    expect_all(sink, 1);
  }
}

// Streams whose numbers share a queue are one order: no event, no wait.
TEST_F(OrderingRules, StreamsOfOneQueueCostNoWait) {
  const Buffer<u32> b = rig.buffer(16, 0);
  ASSERT_TRUE(device.sync().has_value());
  const std::uint64_t waits = rig.waits();
  for (u32 i = 0; i < 10; ++i) {
    launch<increment>(rig.stream(1), Grid::over(16), b);
    launch<increment>(rig.stream(5), Grid::over(16), b);
    launch<increment>(rig.stream(9), Grid::over(16), b);
  }
  Result<std::vector<u32>> got = b.download(rig.stream(1)).get();
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(*got, std::vector<u32>(16, 30));
  EXPECT_LE(rig.waits(), waits + 1);  // for the fill of the default stream, at most
}

// A device error ends nothing but what depends on it; there is no helper thread to die of it.
TEST_F(OrderingRules, ErrorsUnderCrossStreamLoadHurtTheirOwn) {
  const Buffer<u32> good = rig.buffer(16, 1);
  for (int i = 0; i < 50; ++i) {
    const Buffer<u32> bad = rig.buffer(16, 13), out = rig.poisoned(16), fine = rig.poisoned(16);
    launch<checked>(rig.stream(i % 4), Grid::over(16), bad, out);
    launch<twice>(rig.stream((i + 1) % 4), Grid::over(16), good, fine);
    expect_all(fine, 2);
    EXPECT_EQ(root_of(out).kind(), ErrorKind::KernelFault);
  }
}

// A dynamic count of another stream is waited for and held like any input.
TEST_F(OrderingRules, ADynamicCountIsAnInputOnAnyStream) {
  const Buffer<u32> b = rig.buffer(64, 0);
  launch<increment>(device,
                    DynamicGrid{device.upload(std::vector<u32>{1, 1, 1}), {16, 1, 1}, {4, 1, 1}},
                    rig.poisoned(16));
  ASSERT_TRUE(device.sync().has_value());
  rig.sim->hold(1);
  {
    const Buffer<u32> count = rig.buffer(3, 1);
    count.slice(0, 1).fill(rig.stream(1), 3);
    launch<increment>(rig.stream(2), DynamicGrid{count, {16, 1, 1}, {4, 1, 1}}, b);
  }  // its last handle goes while the count is still to be written
  const Buffer<u32> other = rig.buffer(3, 4);
  rig.stream(2).flush();
  rig.catch_up();
  rig.sim->release(1);
  expect_all(b.slice(0, 48), 1);
  expect_all(b.slice(48, 16), 0);
  expect_all(other, 4);
}

TEST_F(OrderingRules, ReadsAndWritesTakeBuffersOfAnyStream) {
  const Buffer<u32> b = rig.poisoned(16);
  for (u32 i = 0; i < 12; ++i) {
    b.write(rig.stream(i % 4), std::vector<u32>(16, i));
    Result<std::vector<u32>> got = b.download(rig.stream((i + 1) % 4)).get();
    ASSERT_TRUE(got.has_value());
    ASSERT_EQ(*got, std::vector<u32>(16, i));
  }
}

// Pages are the device's: what one stream let go serves any other.
TEST_F(OrderingRules, MemoryOfOneStreamServesTheOthers) {
  std::uint64_t reserved = 0;
  for (std::uint64_t s = 0; s < 16; ++s) {
    const StreamScope scope(rig.stream(s));
    {
      const Buffer<u32> b = rig.buffer(200000, 1);
    }
    rig.catch_up();
    if (s == 1) reserved = device.memory().reserved;
  }
  EXPECT_EQ(device.memory().reserved, reserved);
}

// Failures that nobody looks at go with their buffers.
TEST_F(OrderingRules, TheStoreOfFailuresIsBounded) {
  driver::SimOptions o = options();
  o.instant = true;
  SimRig quick(o);
  const std::vector<u32> two(2, 1);
  for (int i = 0; i < 1000000; ++i) {
    const Buffer<u32> b = quick.device->alloc<u32>(1);
    b.write(two);  // refused
  }
  quick.catch_up();
  quick.device->core()->executor().with_server([](server::Server& s) {
    s.idle();
    EXPECT_EQ(s.memory_usage().live, 0u);
    EXPECT_EQ(s.oldest().ticket, 0u);
    EXPECT_FALSE(s.earliest_failure(std::nullopt).has_value());
  });
  EXPECT_TRUE(quick.device->sync().has_value());
}

TEST_F(OrderingRules, AFullLogHoldsTheCallerBackAndLosesNothing) {
  detail::CoreConfig config;
  config.executor.log_limit = 16;
  config.executor.ring_cells = 64;
  SimRig small(options(), config);
  const Buffer<u32> b = small.buffer(16, 0);
  ASSERT_TRUE(b.sync().has_value());
  launch<increment>(*small.device, Grid::over(16), small.poisoned(16));
  ASSERT_TRUE(small.device->sync().has_value());
  small.sim->hold(0);
  std::atomic<int> issued{0};
  std::thread caller([&] {
    for (int i = 0; i < 200; ++i) {
      launch<increment>(*small.device, Grid::over(16), b);
      ++issued;
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LT(issued.load(), 200);  // the ring may hold some beyond the log
  small.sim->release(0);
  caller.join();
  EXPECT_EQ(values(b), std::vector<u32>(16, 200));
}

TEST_F(OrderingRules, FaultWordsThatAreAllTakenHoldTheCallerBack) {
  const Buffer<u32> in = rig.buffer(16, 1), bad = rig.buffer(16, 13);
  launch<checked>(device, Grid::over(16), in, rig.poisoned(16));
  ASSERT_TRUE(device.sync().has_value());
  rig.sim->hold(0);
  std::vector<Buffer<u32>> outputs;
  std::thread caller([&] {
    for (int i = 0; i < 1500; ++i) {
      outputs.push_back(rig.device->alloc<u32>(16));
      launch<checked>(device, Grid::over(16), i % 100 == 99 ? bad : in, outputs.back());
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  rig.sim->release(0);
  caller.join();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (i % 100 == 99) {
      EXPECT_EQ(root_of(outputs[i]).kind(), ErrorKind::KernelFault);
    } else {
      ASSERT_EQ(values(outputs[i]), std::vector<u32>(16, 1)) << i;
    }
  }
}

}  // namespace
}  // namespace tessera::testing
