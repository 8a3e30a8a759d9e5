// SPDX-License-Identifier: MIT OR Apache-2.0
// More than there is room for: failures that nobody looks at, more work in flight than may be, and
// a device that stops.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <future>

#include "client/sim_kernels.hpp"
#include "client/sim_rig.hpp"

namespace tessera {
namespace {

using namespace sim_kernels;
using namespace std::chrono_literals;

constexpr std::uint64_t n = 16;
const Grid whole({1, 1, 1}, {n, 1, 1});

// Of the process; nothing under a sanitizer, whose allocator keeps what was freed.
std::uint64_t resident_bytes() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;
#else
  std::uint64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
#endif
}

// Store

TEST(Pressure, FailuresOfBuffersThatAreGoneLeaveNothing) {
  const SimRig rig;
  const std::vector<u32> two{1, 2};
  const auto fail_and_drop = [&](int times) {
    for (int i = 0; i < times; ++i) rig.device().alloc<u32>(1).write(two);
    rig.issued();
  };
  fail_and_drop(50'000);
  const std::uint64_t before = resident_bytes();
  fail_and_drop(1'000'000);
  rig.started();
  const auto usage = rig.server([](server::Server& s) { return s.memory_usage(); });
  EXPECT_EQ(usage.live, 0u);
  EXPECT_EQ(usage.taken, 0u);
  EXPECT_LE(resident_bytes(), before + (20u << 20));
  EXPECT_TRUE(rig.device().sync());
}

TEST(Pressure, SkippedLaunchesOnBuffersThatAreGoneLeaveNothing) {
  const SimRig rig;
  const auto bad = rig.poisoned(n);
  bad.write(all_of(n + 1, 1));
  const auto skip_and_drop = [&](int times) {
    for (int i = 0; i < times; ++i) {
      launch<plus_one>(rig.device(), Grid::over(n), bad, rig.device().alloc<u32>(n));
    }
    rig.issued();
  };
  skip_and_drop(20'000);
  const std::uint64_t before = resident_bytes();
  skip_and_drop(200'000);
  rig.started();
  EXPECT_EQ(rig.server([](server::Server& s) { return s.memory_usage().live; }), 1u);
  EXPECT_LE(resident_bytes(), before + (20u << 20));
}

TEST(Pressure, RefusalsOfOneBufferOverAndOverLeaveOneClaim) {
  const SimRig rig;
  const auto bad = rig.poisoned(n);
  rig.ran();
  const std::uint64_t before = resident_bytes();
  for (int i = 0; i < 100'000; ++i) bad.write(all_of(n + 1, 1));
  rig.started();
  EXPECT_LE(resident_bytes(), before + (20u << 20));
  EXPECT_EQ(root_of(bad).kind(), ErrorKind::InvalidArgument);
  bad.fill(1);
  EXPECT_EQ(values_of(bad), all_of(n, 1));
}

// Back-pressure

/// Issues on a thread of its own while queue 0 stands still; it must come to wait, and go on once
/// the queue runs. Gives how many it had issued when it waited.
std::size_t issue_against_held_queue(const SimRig& rig, std::size_t count,
                                     const std::function<void(std::size_t)>& issue) {
  rig.ran();
  rig.hold(0);
  std::atomic<std::size_t> issued{0};
  std::thread submitter([&] {
    for (std::size_t i = 0; i < count; ++i) {
      issue(i);
      ++issued;
    }
  });
  std::size_t seen = 0;
  for (int still = 0; still < 20;) {
    std::this_thread::sleep_for(2ms);
    still = issued == seen ? still + 1 : 0;
    seen = issued;
  }
  EXPECT_LT(seen, count) << "the submitting thread never waited";
  EXPECT_GT(seen, 0u);
  rig.release(0);
  submitter.join();
  EXPECT_EQ(issued, count);
  return seen;
}

TEST(Pressure, FullLogHoldsBackTheSubmittingThreadAndLosesNothing) {
  detail::CoreConfig config = SimRig::small_pages();
  config.executor.log_limit = 64;
  config.executor.ring_cells = 64;
  const SimRig rig({}, config);
  std::vector<Buffer<u32>> buffers;
  for (int i = 0; i < 600; ++i) buffers.push_back(rig.device().full<u32>(n, 0u));
  const auto waited_at = issue_against_held_queue(
      rig, buffers.size(), [&](std::size_t i) { buffers[i].fill(static_cast<u32>(i)); });
  EXPECT_GE(waited_at, 60u);
  for (u32 i = 0; i < buffers.size(); ++i) ASSERT_EQ(values_of(buffers[i]), all_of(n, i));
}

TEST(Pressure, FullStagingHoldsBackTheSubmittingThreadAndLosesNothing) {
  detail::CoreConfig config = SimRig::small_pages();
  config.executor.staging_limit = 16 << 10;
  const SimRig rig({}, config);
  constexpr std::size_t elements = 256;  // 1 KiB each
  std::vector<Buffer<u32>> buffers;
  for (int i = 0; i < 100; ++i) buffers.push_back(rig.device().alloc<u32>(elements));
  const auto waited_at = issue_against_held_queue(rig, buffers.size(), [&](std::size_t i) {
    buffers[i].write(all_of(elements, static_cast<u32>(i)));
  });
  EXPECT_GE(waited_at, 15u);
  EXPECT_LE(waited_at, 18u);
  for (u32 i = 0; i < buffers.size(); ++i) ASSERT_EQ(values_of(buffers[i]), all_of(elements, i));
}

TEST(Pressure, MoreLaunchesThatCanFaultThanThereAreSlotsAllRun) {
  const SimRig rig;
  const std::uint32_t slots = rig.core().device().fault_slots;
  const auto good = rig.device().full<u32>(n, 1u), zero = rig.device().zeros<u32>(n);
  std::vector<Buffer<u32>> buffers;
  for (std::uint32_t i = 0; i < slots + 200; ++i) buffers.push_back(rig.poisoned(n));
  const auto waited_at = issue_against_held_queue(rig, buffers.size(), [&](std::size_t i) {
    launch<not_zero>(rig.device(), Grid::over(n), i % 3 == 0 ? zero : good, buffers[i]);
  });
  EXPECT_GE(waited_at, slots - 1);
  EXPECT_LE(waited_at, slots + 2);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (i % 3 == 0) {
      ASSERT_TRUE(contains(root_of(buffers[i]).message(), "the first element is not zero"));
    } else {
      ASSERT_EQ(values_of(buffers[i]), all_of(n, 1));
    }
  }
}

TEST(Pressure, DynamicCountsTakeSlotsTooAndAllRun) {
  const SimRig rig;
  const std::uint32_t slots = rig.core().device().fault_slots;
  const auto one = rig.device().full<u32>(3, 1u);
  std::vector<Buffer<u32>> buffers;
  for (std::uint32_t i = 0; i < slots + 100; ++i) buffers.push_back(rig.poisoned(n));
  const auto waited_at = issue_against_held_queue(rig, buffers.size(), [&](std::size_t i) {
    launch<sevens>(rig.device(), DynamicGrid{one, {n, 1, 1}, {4, 1, 1}}, buffers[i]);
  });
  EXPECT_LE(waited_at, slots + 2);
  for (const auto& buffer : buffers) ASSERT_EQ(values_of(buffer), all_of(n, 7));
}

TEST(Pressure, ThreadThatIsHeldBackIsLetGoWhenTheDeviceIsLost) {
  detail::CoreConfig config = SimRig::small_pages();
  config.executor.log_limit = 16;
  config.executor.ring_cells = 64;
  const SimRig rig({}, config);
  const auto x = rig.poisoned(n);
  rig.ran();
  rig.hold(0);
  auto submitter = std::async(std::launch::async, [&] {
    for (u32 i = 0; i < 2000; ++i) x.fill(i);
  });
  EXPECT_EQ(submitter.wait_for(50ms), std::future_status::timeout);
  rig.sim().lose("The cable was pulled.");
  EXPECT_EQ(submitter.wait_for(5s), std::future_status::ready);
  EXPECT_EQ(root_of(x).message(), "The cable was pulled.");
}

// Hanging

detail::CoreConfig impatient() {
  detail::CoreConfig config = SimRig::small_pages();
  config.executor.hang_after = 50ms;
  return config;
}

TEST(Pressure, HangingKernelIsALossThatNamesIt) {
  const SimRig rig({}, impatient());
  const auto x = rig.device().full<u32>(n, 1u), out = rig.poisoned(n), other = rig.poisoned(n);
  launch<plus_one>(rig.device(), Grid::over(n), x, out);
  EXPECT_EQ(values_of(out), all_of(n, 2));
  rig.next(SimRig::Call::launch, SimRig::Fault::hang);
  launch<sevens>(rig.device(), Grid::over(n), out);
  const auto began = std::chrono::steady_clock::now();
  const Error first = root_of(out);
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_GE(took, 50ms);
  EXPECT_LT(took, 1500ms);
  EXPECT_EQ(first.kind(), ErrorKind::DeviceLost) << first.full();
  EXPECT_TRUE(contains(first.message(), name_of<sevens>())) << first.full();
  EXPECT_TRUE(contains(first.message(), "finished nothing for 0.05 s")) << first.full();

  const auto later = std::chrono::steady_clock::now();
  EXPECT_TRUE(root_of(other).same_root(first));
  EXPECT_TRUE(root_of(rig.device().full<u32>(n, 1u)).same_root(first));
  EXPECT_TRUE(error_of(rig.device().sync()).root().same_root(first));
  EXPECT_TRUE(error_of(out.status()).root().same_root(first));
  EXPECT_LT(std::chrono::steady_clock::now() - later, 40ms);  // nobody waits for it again
  rig.sim().lose("The test is over.");                        // pages may go
}

TEST(Pressure, HangIsFoundBySync) {
  const SimRig rig({}, impatient());
  const auto out = rig.poisoned(n);
  rig.next(SimRig::Call::launch, SimRig::Fault::hang);
  launch<sevens>(rig.stream(1), Grid::over(n), out);
  const Status synced = rig.stream(1).sync();
  ASSERT_FALSE(synced);
  EXPECT_EQ(synced.error().kind(), ErrorKind::DeviceLost);
  EXPECT_TRUE(contains(synced.error().message(), name_of<sevens>()));
  rig.sim().lose("The test is over.");  // pages may go
}

TEST(Pressure, ThreadThatIsHeldBackByAHangingDeviceIsLetGo) {
  detail::CoreConfig config = impatient();
  config.executor.log_limit = 16;
  config.executor.ring_cells = 64;
  const SimRig rig({}, config);
  const auto x = rig.poisoned(n);
  rig.next(SimRig::Call::launch, SimRig::Fault::hang);
  launch<sevens>(rig.device(), Grid::over(n), x);
  auto submitter = std::async(std::launch::async, [&] {
    for (u32 i = 0; i < 2000; ++i) x.fill(i);
  });
  EXPECT_EQ(submitter.wait_for(2s), std::future_status::ready);
  rig.sim().lose("The test is over.");
  submitter.get();
}

// A deadline is kept also where the log is full.
TEST(Pressure, SyncKeepsItsDeadlineWhileTheLogIsFull) {
  detail::CoreConfig config = SimRig::small_pages();
  config.executor.log_limit = 16;
  config.executor.ring_cells = 64;
  const SimRig rig({}, config);
  const auto x = rig.poisoned(n);
  rig.ran();
  rig.hold(0);
  auto submitter = std::async(std::launch::async, [&] {
    for (u32 i = 0; i < 2000; ++i) x.fill(i);
  });
  ASSERT_EQ(submitter.wait_for(50ms), std::future_status::timeout);
  std::future<Status> synced;
  rig.server([&](server::Server&) {  // somebody else is at the server when sync() comes
    synced = std::async(std::launch::async, [&] { return rig.stream(1).sync(20ms); });
    std::this_thread::sleep_for(20ms);
  });
  EXPECT_EQ(synced.wait_for(1s), std::future_status::ready);
  rig.release(0);
  submitter.get();
  (void)synced.get();
}

TEST(Pressure, DeadlineBeforeTheHangIsATimeoutAndNoLoss) {
  const SimRig rig({}, impatient());
  const auto out = rig.poisoned(n);
  rig.ran();
  rig.hold(1);
  launch<sevens>(rig.stream(1), Grid::over(n), out);
  const Status synced = rig.stream(1).sync(5ms);
  ASSERT_FALSE(synced);
  EXPECT_EQ(synced.error().kind(), ErrorKind::Timeout);
  rig.release(1);
  EXPECT_EQ(values_of(out), all_of(n, 7));
}

TEST(Pressure, SlowDeviceThatGoesOnIsNotTakenForLost) {
  const SimRig rig({}, impatient());
  const auto x = rig.device().full<u32>(n, 0u), other = rig.poisoned(n);
  rig.ran();
  rig.hold(1);
  launch<bump>(rig.stream(1), Grid::over(n), x);
  auto pending = x.download(rig.stream(1));
  std::atomic<bool> stop{false};
  std::thread busy([&] {  // other queues finish something all the time
    for (u32 i = 0; i < 12 && !stop; ++i) {
      other.fill(rig.stream(2), i);
      (void)rig.stream(2).sync();
      std::this_thread::sleep_for(10ms);
    }
    rig.release(1);
  });
  const auto got = std::move(pending).get();
  stop = true;
  busy.join();
  ASSERT_TRUE(got) << got.error().full();
  EXPECT_EQ(*got, all_of(n, 1));
}

// The driver contract: a page is freed once every operation that names it has completed.
TEST(Pressure, DeviceThatIsClosedWithWorkInFlightFreesNoPageUnderIt) {
  static std::vector<std::string> found;
  struct Watched : driver::SimDriver {
    using SimDriver::SimDriver;
    ~Watched() override { found = violations(); }
  };
  found.clear();
  {
    const Device device(std::make_shared<detail::DeviceCore>(
        std::make_unique<Watched>(driver::SimOptions{}), SimRig::small_pages()));
    const auto x = device.full<u32>(n, 1u);
    launch<bump>(device, Grid::over(n), x);  // the kernel is ready from here on
    EXPECT_TRUE(device.sync());
    for (int i = 0; i < 20; ++i) launch<bump>(device, Grid::over(n), x);
  }
  EXPECT_TRUE(found.empty()) << found.size() << " findings, first: " << found.front();
}

}  // namespace
}  // namespace tessera
