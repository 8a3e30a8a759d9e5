// SPDX-License-Identifier: MIT OR Apache-2.0
// Faults on purpose: what was planned or drawn, and what tests arrange by hand.
#include <fmt/format.h>

#include "driver/sim/sim_driver.hpp"

namespace tessera::driver {

std::optional<Error> SimDriver::injected(SimCall call, std::optional<SimFault>& operation,
                                         std::uint64_t& fault_number) const {
  if (options_.instant) return std::nullopt;
  if (lost_) return lost_;
  const std::optional<SimFault> fault = faults_plan_.next(call);
  if (!fault) return std::nullopt;
  if (options_.allow_fault && !options_.allow_fault(call, *fault)) return std::nullopt;
  faults_plan_.count();
  const std::string where = fmt::format("Injected fault {} at {} {}", faults_plan_.injected(),
                                        to_string(call), faults_plan_.calls(call));
  if (*fault == SimFault::lose) {
    lose_now(where + ": the device was lost.");
    return lost_;
  }
  if (*fault == SimFault::fail) {
    return Error(ErrorKind::LaunchFailed, where + ": the call was refused.");
  }
  operation = fault;
  fault_number = faults_plan_.injected();
  return std::nullopt;
}

std::optional<Error> SimDriver::injected(SimCall call) const {
  std::optional<SimFault> operation;
  std::uint64_t number = 0;
  return injected(call, operation, number);
}

void SimDriver::lose_now(std::string why) const {
  if (!lost_) lost_ = Error(ErrorKind::DeviceLost, std::move(why));
  changed_.notify_all();
}

void SimDriver::hold(QueueId queue) {
  const std::lock_guard lock(mutex_);
  queues_[queue].held = true;
}

void SimDriver::release(QueueId queue) {
  const std::lock_guard lock(mutex_);
  queues_[queue].held = false;
  changed_.notify_all();
}

void SimDriver::plan(SimFaultAt fault) {
  const std::lock_guard lock(mutex_);
  faults_plan_.add(fault);
}

void SimDriver::stop_drawing_faults() {
  const std::lock_guard lock(mutex_);
  faults_plan_.stop_drawing();
}

std::uint64_t SimDriver::faults_injected() const {
  const std::lock_guard lock(mutex_);
  return faults_plan_.injected();
}

std::uint64_t SimDriver::calls(SimCall call) const {
  const std::lock_guard lock(mutex_);
  return faults_plan_.calls(call);
}

void SimDriver::set_memory_limit(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  memory_limit_ = bytes;
}

std::uint64_t SimDriver::memory_in_use() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

void SimDriver::lose(std::string why) {
  const std::lock_guard lock(mutex_);
  lose_now(std::move(why));
}

std::optional<Error> SimDriver::lost() const {
  if (options_.instant) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return lost_;
}

}  // namespace tessera::driver
