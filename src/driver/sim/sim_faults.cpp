// SPDX-License-Identifier: MIT OR Apache-2.0
#include "driver/sim/sim_faults.hpp"

namespace tessera::driver {
namespace {

bool is_operation(SimCall call) {
  return call >= SimCall::launch && call <= SimCall::download;
}

}  // namespace

std::string_view to_string(SimCall call) noexcept {
  constexpr std::string_view names[sim_calls] = {"allocate", "compile", "load",   "launch",
                                                 "copy",     "fill",    "upload", "download",
                                                 "wait",     "submit"};
  return names[static_cast<std::size_t>(call)];
}

std::string_view to_string(SimFault fault) noexcept {
  constexpr std::string_view names[] = {"refusal", "late failure", "hang", "trap", "loss"};
  return names[static_cast<std::size_t>(fault)];
}

SimFaultPlan::SimFaultPlan(const SimFaults& faults) : faults_(faults) {
  for (std::size_t i = 0; i < sim_calls; ++i) random_[i].seed(faults.seed * sim_calls + i);
}

std::optional<SimFault> SimFaultPlan::next(SimCall call) {
  const std::uint64_t nth = ++calls_[static_cast<std::size_t>(call)];
  for (const SimFaultAt& at : faults_.planned) {
    if (at.call == call && at.nth == nth) return at.what;
  }
  if (faults_.fail + faults_.late + faults_.lose == 0 ||
      (faults_.kinds >> static_cast<unsigned>(call) & 1) == 0) {
    return std::nullopt;
  }
  std::uint64_t drawn = random_[static_cast<std::size_t>(call)]() % 10000;
  const auto hit = [&](std::uint32_t chance) {
    if (drawn < chance) return true;
    drawn -= chance;
    return false;
  };
  std::optional<SimFault> fault;
  if (hit(faults_.fail)) {
    fault = SimFault::fail;
  } else if (hit(faults_.late)) {
    if (is_operation(call)) fault = SimFault::late;
  } else if (hit(faults_.lose)) {
    fault = SimFault::lose;
  }
  return fault;
}

}  // namespace tessera::driver
