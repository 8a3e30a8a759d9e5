// SPDX-License-Identifier: MIT OR Apache-2.0
// Many threads, one device.
#include <gtest/gtest.h>

#include <thread>

#include "client/device_core.hpp"
#include "driver/sim/sim_driver.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

void bump(InOut<u32> x) {
  $if(absolute_pos < x.len()) {
    x[absolute_pos] += 1;
  }
}

TEST(Threads, EachSeesItsOwnWork) {
  driver::SimOptions options;
  auto sim = driver::make_sim(options);
  auto* checker = static_cast<driver::SimDriver*>(sim.get());
  const Device device(std::make_shared<detail::DeviceCore>(std::move(sim), detail::CoreConfig{}));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (u32 t = 0; t < 4; ++t) {
    threads.emplace_back([&device, &wrong, t] {
      const Stream stream = device.new_stream();
      for (u32 round = 0; round < 25; ++round) {
        const auto x = device.full<u32>(100, t);
        for (int i = 0; i < 3; ++i) launch<bump>(stream, Grid::over(100), x);
        const auto out = x.download(stream).get();
        if (!out || *out != std::vector<u32>(100, t + 3)) ++wrong;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(checker->violations().empty());
}

TEST(Threads, HandlesDieOnForeignThreads) {
  driver::SimOptions options;
  options.instant = true;
  const Device device(
      std::make_shared<detail::DeviceCore>(driver::make_sim(options), detail::CoreConfig{}));
  for (int round = 0; round < 50; ++round) {
    auto x = std::make_unique<Buffer<u32>>(device.full<u32>(1000, 5u));
    launch<bump>(device, Grid::over(1000), *x);
    auto pending = x->download();
    std::thread([dropped = std::move(x)]() mutable { dropped.reset(); }).join();
    EXPECT_EQ(std::move(pending).get().value(), std::vector<u32>(1000, 6));
  }
  device.core()->executor().with_server([](server::Server& s) { s.idle(); });
  EXPECT_EQ(device.core()->executor().with_server(
                [](server::Server& s) { return s.memory_usage().live; }),
            0u);
}

TEST(Threads, ABufferOutlivesItsDeviceHandle) {
  Buffer<u32> x;
  {
    driver::SimOptions options;
    const Device device(
        std::make_shared<detail::DeviceCore>(driver::make_sim(options), detail::CoreConfig{}));
    x = device.full<u32>(10, 3u);
  }
  EXPECT_EQ(x.to_vector().value(), std::vector<u32>(10, 3));
}

}  // namespace
}  // namespace tessera
