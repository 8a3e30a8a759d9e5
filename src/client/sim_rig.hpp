// SPDX-License-Identifier: MIT OR Apache-2.0
// A device over the simulator for tests that arrange what happens when: which queue stands still,
// which call fails, and what order the operations ran in.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "client/device_core.hpp"
#include "driver/sim/sim_driver.hpp"
#include "tessera/tessera.hpp"

namespace tessera {

/// What an operation that never ran leaves behind.
inline constexpr u32 poison = 0xdeadbeefu;

class SimRig {
 public:
  using Sim = driver::SimDriver;
  using Call = driver::SimCall;
  using Fault = driver::SimFault;

  explicit SimRig(const driver::SimOptions& options = {},
                  const detail::CoreConfig& config = small_pages()) {
    auto sim = driver::make_sim(options);
    sim_ = static_cast<Sim*>(sim.get());
    queues_ = std::min(options.queues, config.server.max_streams);
    device_.emplace(std::make_shared<detail::DeviceCore>(std::move(sim), config));
  }
  SimRig(const SimRig&) = delete;
  SimRig& operator=(const SimRig&) = delete;
  /// No order was broken and nothing unwritten was read, whatever the test was about.
  ~SimRig() {
    release_all();
    ran();  // so that what was in flight at the end of the test is looked at too
    for (const std::string& v : sim_->violations()) ADD_FAILURE() << v;
  }

  static detail::CoreConfig small_pages() {
    detail::CoreConfig config;
    config.server.layout = MemoryLayout::custom({SlicedPool{1 << 16}, ExclusivePool{}});
    return config;
  }

  const Device& device() const { return *device_; }
  Sim& sim() const { return *sim_; }
  detail::DeviceCore& core() const { return *device_->core(); }

  /// The stream of that number; it is served by queue number % max_streams % queues.
  Stream stream(std::uint64_t number) const { return Stream(device_->core(), number); }
  Buffer<u32> poisoned(std::uint64_t n) const { return device_->full<u32>(n, poison); }

  void hold(driver::QueueId queue) const { sim_->hold(queue); }
  void release(driver::QueueId queue) const { sim_->release(queue); }
  void release_all() const {
    for (std::uint32_t q = 0; q < queues_; ++q) sim_->release(static_cast<driver::QueueId>(q));
  }

  /// Under the executor's lock.
  template <class F>
  auto server(F&& f) const {
    return core().executor().with_server(std::forward<F>(f));
  }

  /// Returns once the server has come to everything issued so far. Launches may still be parked,
  /// waiting for their kernels.
  void reached() const {
    await([this](server::Server& s) { return s.executed() == core().executor().positions(); });
  }
  /// Returns once the driver has been given everything issued so far. The device need not have run
  /// any of it.
  void issued() const {
    await([this](server::Server& s) {
      return s.parked() == 0 && s.executed() == core().executor().positions();
    });
  }
  /// As issued(), and the device was told to start it.
  void started() const {
    issued();
    server([](server::Server& s) { s.idle(); });
  }
  /// The device has run everything that can run.
  void ran() const {
    started();
    std::size_t before = ~std::size_t{0};
    int still = 0;
    while (still < 20) {  // each look moves the simulator on by a few operations, or by none
      for (std::uint32_t q = 0; q < queues_; ++q) {
        (void)sim_->completed(static_cast<driver::QueueId>(q));
      }
      const std::size_t now = sim_->history().size();
      still = now == before ? still + 1 : 0;
      before = now;
    }
  }

  /// The next call of this kind that the server makes goes wrong.
  void next(Call call, Fault fault) const {
    issued();
    sim_->plan({call, sim_->calls(call) + 1, fault});
  }

  std::uint64_t waits() const {
    issued();
    return server([](server::Server& s) { return s.waits(); });
  }

  /// Places in the order of execution at which the queue ran something.
  std::vector<std::size_t> places(driver::QueueId queue) const {
    std::vector<std::size_t> found;
    const auto history = sim_->history();
    for (std::size_t i = 0; i < history.size(); ++i) {
      if (history[i].queue == queue) found.push_back(i);
    }
    return found;
  }

 private:
  template <class F>
  void await(F&& f) const {
    while (!server(f)) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }

  Sim* sim_ = nullptr;
  std::uint32_t queues_ = 0;
  std::optional<Device> device_;
};

/// The elements, or a failed test.
inline std::vector<u32> values_of(const Buffer<u32>& buffer) {
  Result<std::vector<u32>> values = buffer.to_vector();
  EXPECT_TRUE(values.has_value()) << (values ? "" : values.error().full());
  return values ? *values : std::vector<u32>();
}

/// Why the elements cannot be had, as the reader is told; a failed test where they can.
inline Error error_of(const Buffer<u32>& buffer) {
  const Result<std::vector<u32>> values = buffer.to_vector();
  EXPECT_FALSE(values.has_value()) << "a failure was expected, but there is " << (*values)[0];
  return values ? Error(ErrorKind::Io, "no failure") : values.error();
}
inline Error error_of(const Status& status) {
  EXPECT_FALSE(status.has_value()) << "a failure was expected";
  return status ? Error(ErrorKind::Io, "no failure") : status.error();
}
inline Error root_of(const Buffer<u32>& buffer) {
  return error_of(buffer).root();
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline std::vector<u32> all_of(std::size_t n, u32 value) {
  return std::vector<u32>(n, value);
}

}  // namespace tessera
