// SPDX-License-Identifier: MIT OR Apache-2.0
// What happened when a program ran, for the model to judge afterwards.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tessera/error.hpp"

namespace tessera::campaign {

/// The answer to a read: bytes, or why there are none.
struct Answer {
  std::vector<std::vector<std::uint32_t>> values;  // by range
  std::optional<Error> error;
};

struct Record {
  std::set<std::size_t> issued;         // operations that made sense when it was their turn
  std::map<std::size_t, Answer> reads;  // by operation
  std::map<std::size_t, std::optional<Error>> syncs;
  std::map<std::size_t, std::optional<Error>> statuses;  // only where nothing was left to execute
  std::set<std::size_t> failed;                          // operations that an injected fault hit
  std::set<std::size_t> no_memory;                       // allocations that were refused
  std::map<std::uint64_t, std::size_t> fault_of;         // number of the fault -> operation
  bool lost = false;
  std::vector<std::string> injections;  // in the order in which they happened, for people

  // How much of it happened, to see that the campaign does not pass for want of trying.
  std::uint64_t device_operations = 0, waits = 0, parked = 0;

  std::uint64_t faults = 0;
  std::vector<std::string> violations;  // of the driver's contract, in the simulator's words
  std::vector<std::string> leaks;
  std::vector<std::string> hangs;
};

}  // namespace tessera::campaign
