// SPDX-License-Identifier: MIT OR Apache-2.0
// What goes wrong in the simulator, and when.
//
// Faults are planned in calls of the driver, counted per kind from 1, or drawn from a seed of their
// own, so that a program with the same seeds meets the same faults whatever its queues'
// interleaving.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

namespace tessera::driver {

enum class SimCall : std::uint8_t {
  allocate,
  compile,
  load,
  launch,
  copy,
  fill,
  upload,
  download,
  wait,
  submit,
};
inline constexpr std::size_t sim_calls = 10;
std::string_view to_string(SimCall call) noexcept;

enum class SimFault : std::uint8_t {
  fail,  // the call is refused and does nothing; of allocate: out of memory
  late,  // accepted, spoils what it should write, and is found to have failed when it completes
  hang,  // accepted and never completes; operations alone
  trap,  // the device is lost when the operation runs
  lose,  // the device is lost at the call
};
std::string_view to_string(SimFault fault) noexcept;

struct SimFaultAt {
  SimCall call{};
  std::uint64_t nth = 1;  // of its kind
  SimFault what = SimFault::fail;
};

struct SimFaults {
  std::vector<SimFaultAt> planned;
  std::uint64_t seed = 1;
  // Chances per 10 000 calls of the drawn kinds. `late` counts for operations alone.
  std::uint32_t fail = 0, late = 0, lose = 0;
  std::uint32_t kinds = ~0u;  // a bit per SimCall
};

/// Decides call by call. `number` counts the faults that were injected.
class SimFaultPlan {
 public:
  explicit SimFaultPlan(const SimFaults& faults);

  void add(SimFaultAt fault) { faults_.planned.push_back(fault); }
  /// Drawn faults stop; planned ones stay.
  void stop_drawing() { faults_.fail = faults_.late = faults_.lose = 0; }
  /// Called once per call of a kind.
  std::optional<SimFault> next(SimCall call);
  void count() { ++injected_; }
  std::uint64_t injected() const noexcept { return injected_; }
  std::uint64_t calls(SimCall call) const noexcept {
    return calls_[static_cast<std::size_t>(call)];
  }

 private:
  SimFaults faults_;
  std::array<std::mt19937_64, sim_calls> random_;  // by kind: kinds do not shift one another
  std::array<std::uint64_t, sim_calls> calls_{};
  std::uint64_t injected_ = 0;
};

}  // namespace tessera::driver
