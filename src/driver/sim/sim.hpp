// SPDX-License-Identifier: MIT OR Apache-2.0
// A device without hardware: the simulator that finds what servers do wrong, and, with `instant`,
// the CPU device that the interpreter answers for.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "driver/driver.hpp"
#include "driver/sim/sim_faults.hpp"

namespace tessera::driver {

struct SimOptions {
  std::uint64_t seed = 1;                               // of the interleaving of queues
  std::uint32_t queues = 4;                             // 1 to 255
  std::uint64_t memory_limit = std::uint64_t{1} << 30;  // bytes of all pages together
  bool find_races = true;                               // inside kernels
  bool find_unwritten = true;                           // reads of bytes that nobody wrote
  // Operations run when enqueued and nothing is checked but what kernels check themselves.
  bool instant = false;
  std::string name;  // empty: by `instant`
  SimFaults faults;
  // Asked before a drawn or planned fault is injected; false spares the call. Calls nothing back.
  std::function<bool(SimCall, SimFault)> allow_fault;
  std::string uncompilable;  // a kernel that compile() refuses
  // completed() may say less than is done, as devices do whose news travels.
  bool late_news = false;
  bool one_access_per_page = false;  // see Properties
  // How long wait_host() without a deadline stands still for another thread to submit what it
  // needs, before it calls the wait endless.
  std::chrono::milliseconds patience{2000};
};

std::unique_ptr<Driver> make_sim(const SimOptions& options);

}  // namespace tessera::driver
