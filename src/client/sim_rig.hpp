// SPDX-License-Identifier: MIT OR Apache-2.0
// For tests: a device on the simulator that can be held, broken and asked what it saw.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "client/device_core.hpp"
#include "driver/sim/sim_driver.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/tessera.hpp"

namespace tessera::testing {

inline constexpr u32 poison = 0xdeadbeefu;

// Kernels of the tests of this folder.
inline void twice(In<u32> a, Out<u32> b) {
  $if(absolute_pos < b.len()) {
    b[absolute_pos] = a[absolute_pos] * 2;
  }
}
inline void increment(InOut<u32> a) {
  $if(absolute_pos < a.len()) {
    a[absolute_pos] += 1;
  }
}
/// Faults where the first element is thirteen.
inline void checked(In<u32> a, Out<u32> b) {
  check(a[0] != 13, "thirteen");
  $if(absolute_pos < b.len()) {
    b[absolute_pos] = a[absolute_pos];
  }
}

/// Streams 0, 1, 2 … run on queues 0, 1, 2 …. The default stream is 0.
class SimRig {
 public:
  explicit SimRig(driver::SimOptions options = {}, detail::CoreConfig config = {}) {
    auto driver = driver::make_sim(options);
    sim = static_cast<driver::SimDriver*>(driver.get());
    config.server.max_streams = options.queues;
    device =
        std::make_unique<Device>(std::make_shared<detail::DeviceCore>(std::move(driver), config));
  }
  ~SimRig() {
    for (const std::string& v : sim->violations()) ADD_FAILURE() << v;
  }

  Stream stream(std::uint64_t id) const { return Stream(device->core(), id); }
  Buffer<u32> buffer(std::size_t n, u32 value) const { return device->full<u32>(n, value); }
  /// What an operation that never ran would leave.
  Buffer<u32> poisoned(std::size_t n) const { return buffer(n, poison); }
  /// Everything that was issued has been executed, and what ran is inspected.
  void catch_up() const {
    device->core()->executor().catch_up();
    device->core()->executor().with_server([](server::Server& s) { s.inspect(); });
  }
  std::uint64_t waits() const {
    catch_up();
    return device->core()->executor().with_server([](server::Server& s) { return s.waits(); });
  }
  /// Lets the next call of the kind meet the fault.
  void next(driver::SimCall call, driver::SimFault what) const {
    catch_up();
    sim->plan({call, sim->calls(call) + 1, what});
  }

  driver::SimDriver* sim = nullptr;
  std::unique_ptr<Device> device;
};

/// Tests on a simulator of four queues, with patience for queues that are held.
class OnSimulator : public ::testing::Test {
 protected:
  static driver::SimOptions options() {
    driver::SimOptions o;
    o.queues = 4;
    o.memory_limit = 64 << 20;
    o.patience = std::chrono::milliseconds(5000);
    return o;
  }
  SimRig rig{options()};
  const Device& device = *rig.device;
};

inline std::vector<u32> values(const Buffer<u32>& buffer) {
  Result<std::vector<u32>> got = buffer.to_vector();
  if (!got) {
    ADD_FAILURE() << got.error().full();
    return {};
  }
  return *std::move(got);
}
inline void expect_all(const Buffer<u32>& buffer, u32 value) {
  EXPECT_EQ(values(buffer), std::vector<u32>(buffer.size(), value));
}

/// The root of why the buffer cannot be read; a failed test where it can.
inline Error root_of(const Buffer<u32>& buffer) {
  Result<std::vector<u32>> got = buffer.to_vector();
  if (got) {
    ADD_FAILURE() << "the buffer can be read and begins with " << (got->empty() ? 0 : got->front());
    return Error(ErrorKind::Io, "no error");
  }
  return got.error().root();
}
inline void expect_root(const Buffer<u32>& buffer, ErrorKind kind, std::string_view part) {
  const Error root = root_of(buffer);
  EXPECT_EQ(root.kind(), kind) << root.full();
  EXPECT_NE(root.message().find(part), std::string::npos) << root.message();
}

}  // namespace tessera::testing
