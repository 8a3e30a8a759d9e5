// SPDX-License-Identifier: MIT OR Apache-2.0
// Handles that die, and devices that close, while something is going on; buffers of other devices.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "client/device_core.hpp"
#include "driver/sim/sim_driver.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

void bump(InOut<u32> x) {
  $if(absolute_pos < x.len()) {
    x[absolute_pos] += 1;
  }
}

// Counts reads, and keeps launches waiting while told to.
class Slow final : public driver::SimDriver {
 public:
  using SimDriver::SimDriver;
  Result<driver::Ticket> launch(driver::QueueId queue, const driver::LaunchDesc& desc) override {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    --waiting_;
    return SimDriver::launch(queue, desc);
  }
  Result<Download> download(driver::QueueId queue, driver::Region from) override {
    ++reads;
    return SimDriver::download(queue, from);
  }
  Status take_read(driver::ReadId read, std::span<std::byte> to) override {
    --reads;
    return SimDriver::take_read(read, to);
  }
  void drop_read(driver::ReadId read) override {
    std::unique_lock lock(mutex_);  // as a driver that is busy would
    changed_.wait(lock, [this] { return !held_; });
    --reads;
    SimDriver::drop_read(read);
  }

  void hold(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  void wait_until_held() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ > 0; });
  }
  std::atomic<int> reads{0};

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  int waiting_ = 0;
};

struct Opened {
  Slow* driver = nullptr;
  std::optional<Device> device;
  explicit Opened(const char* name = "", std::uint32_t queues = 2) {
    driver::SimOptions options;
    options.name = name;
    options.queues = queues;
    auto slow = std::make_unique<Slow>(options);
    driver = slow.get();
    device.emplace(std::make_shared<detail::DeviceCore>(std::move(slow), detail::CoreConfig{}));
  }
};

TEST(Closing, ADroppedReadIsGivenBackHoweverEarly) {
  Opened o;
  const auto x = o.device->full<u32>(100, 1u);
  for (int round = 0; round < 200; ++round) {
    if (round % 3 == 0) launch<bump>(*o.device, Grid::over(100), x);
    auto pending = x.download();
    if (round % 5 == 0) (void)pending.wait_for(milliseconds(1000));
  }
  ASSERT_TRUE(x.to_vector());
  o.device->core()->executor().with_server([](server::Server& s) { s.idle(); });
  EXPECT_EQ(o.driver->reads, 0);
  EXPECT_TRUE(o.driver->violations().empty());
}

TEST(Closing, DropsDoNotWaitForABusyDriver) {
  Opened o;
  std::optional x = o.device->full<u32>(100, 1u);
  std::optional pending = x->download();
  ASSERT_TRUE(pending->wait_for(milliseconds(1000)));
  o.driver->hold(true);
  launch<bump>(*o.device, Grid::over(100), *x);
  o.device->stream().flush();
  o.driver->wait_until_held();
  const auto start = Clock::now();
  pending.reset();
  x.reset();
  EXPECT_LT(Clock::now() - start, milliseconds(200));
  o.driver->hold(false);
  EXPECT_TRUE(o.device->sync());
}

TEST(Closing, ADriverThatHangsIsWaitedForNoLongerThanAllowed) {
  Opened o;
  const auto x = o.device->full<u32>(100, 1u);
  ASSERT_TRUE(x.to_vector());
  o.driver->hold(true);
  launch<bump>(*o.device, Grid::over(100), x);
  o.driver->wait_until_held();
  const auto core = o.device->core();
  const auto latest = Clock::now() + milliseconds(50);
  core->begin_close(latest);
  EXPECT_FALSE(core->finish_close(latest));
  EXPECT_LT(Clock::now() - latest, milliseconds(500));
  // The executor's lock is held by the launch for ever: nobody runs into it.
  EXPECT_EQ(x.status().error().kind(), ErrorKind::DeviceLost);
  EXPECT_EQ(x.to_vector().error().kind(), ErrorKind::DeviceLost);
  EXPECT_EQ(o.device->sync().error().message(),
            "The device has been closed: the process is ending.");
  o.driver->hold(false);
  EXPECT_TRUE(core->finish_close(Clock::now() + milliseconds(5000)));
}

TEST(Closing, ThreadsThatUseADeviceWhileItCloses) {
  for (int round = 0; round < 10; ++round) {
    Opened o;
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    std::atomic<int> begun{0};
    for (u32 t = 0; t < 4; ++t) {
      threads.emplace_back([&o, &wrong, &begun, t] {
        const Stream stream = o.device->new_stream();
        for (u32 n = 0;; ++n) {
          const auto x = o.device->full<u32>(64, n);
          launch<bump>(stream, Grid::over(64), x);
          auto dropped = x.download(stream);
          const auto values = x.download(stream).get();
          if (n == 1) ++begun;
          if (t == 0) (void)x.status();
          if (!values) {
            if (values.error().root().kind() != ErrorKind::DeviceLost) ++wrong;
            if (!o.device->core()->is_open()) return;
          } else if (*values != std::vector<u32>(64, n + 1)) {
            ++wrong;
          }
        }
      });
    }
    while (begun < 4) std::this_thread::yield();
    const auto latest = Clock::now() + milliseconds(5000);
    o.device->core()->begin_close(latest);
    EXPECT_TRUE(o.device->core()->finish_close(latest));
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong, 0);
  }
}

TEST(OtherDevices, AreNamedBoth) {
  const Opened a("Alpha"), b("Beta");
  const auto expect_both = [](const Error& error) {
    EXPECT_EQ(error.root().kind(), ErrorKind::InvalidArgument);
    EXPECT_NE(error.full().find("Alpha"), std::string::npos) << error.full();
    EXPECT_NE(error.full().find("Beta"), std::string::npos) << error.full();
  };
  const auto x = a.device->full<u32>(8, 1u);
  const Stream foreign = b.device->new_stream();
  expect_both(x.download(foreign).get().error());
  for (int operation = 0; operation < 5; ++operation) {
    const auto y = a.device->full<u32>(8, 2u);
    if (operation == 0) y.fill(foreign, 3);
    if (operation == 1) y.write(foreign, std::vector<u32>(8, 3));
    if (operation == 2) y.copy_from(foreign, x);
    if (operation == 3) y.copy_from(b.device->full<u32>(8, 3u));
    // What would have been written is not readable as if it had been.
    if (operation == 4) {
      // Another device's output is left alone.
      expect_both(launch<bump>(foreign, Grid::over(8), y).status().error());
      EXPECT_EQ(y.to_vector().value(), std::vector<u32>(8, 2));
      continue;
    }
    expect_both(y.to_vector().error());
    y.fill(4);
    EXPECT_EQ(y.to_vector().value(), std::vector<u32>(8, 4));
  }
  const auto counts = b.device->full<u32>(3, 1u);
  expect_both(
      launch<bump>(*a.device, DynamicGrid{counts, {1, 1, 1}, {4, 4, 4}}, x).status().error());
}

}  // namespace
}  // namespace tessera
