// SPDX-License-Identifier: MIT OR Apache-2.0
// One program, run and judged; and the smallest part of a failing one that still fails.
#pragma once

#include <string>

#include "campaign/program.hpp"
#include "server/defects.hpp"

namespace tessera::campaign {

enum class Verdict : std::uint8_t {
  passed,
  stale_read,          // data that is not what the calls in order give
  wrong_error,         // an error that is not due, or names the wrong root
  unordered_conflict,  // two accesses that nothing orders
  unwritten_read,      // bytes that nobody wrote
  leak,
  hang,
  broken_contract,  // any other rule of the driver contract
};
std::string_view to_string(Verdict verdict);

struct Outcome {
  Verdict verdict = Verdict::passed;
  std::string text;
  std::uint64_t faults = 0;
  bool lost = false;
  std::vector<std::string> injections;
  std::uint64_t device_operations = 0, waits = 0, parked = 0, reads = 0, failed_reads = 0;
};

Outcome run(const Program& program, server::Defect defect);
/// Removes operations, then simplifies the setting, as long as the verdict stays.
Program shrink(Program program, server::Defect defect, Verdict verdict);

}  // namespace tessera::campaign
