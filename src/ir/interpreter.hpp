// SPDX-License-Identifier: MIT OR Apache-2.0
// Runs a kernel on the host, exactly: the oracle that every target is held against.
//
// All units of a cube run in step, an operation at a time, under a mask; cubes run one after the
// other. So a result never depends on scheduling, and what a real device leaves undefined is
// found instead of chosen: two units touching the same bytes without an order, reads of bytes that
// nobody wrote, barriers that not every unit reaches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/kernel.hpp"
#include "tessera/result.hpp"

namespace tessera::ir {

/// Bytes of one binding. `written` has one byte per byte of data, nonzero where something was
/// written before; empty: everything counts as written and nothing is tracked.
struct BufferView {
  std::span<std::byte> data;
  std::span<std::uint8_t> written;
};

struct RunOptions {
  std::array<std::uint32_t, 3> cubes{1, 1, 1};  // virtual cube count
  bool wide_index = false;
  bool find_races = false;
  bool find_unwritten = false;
};

enum class FindingKind : std::uint8_t { race, unwritten_read, divergent_barrier };

/// Something that would be undefined on a device.
struct Finding {
  FindingKind kind;
  std::string message;  // full sentence: kernel, line, binding, element, units
};

struct RunFault {
  std::uint32_t site;
  std::uint64_t index;  // coordinates packed as in pack_coordinates() for two axes
};

struct RunOutcome {
  std::optional<RunFault> fault;  // the first one, in the order of execution
  std::vector<Finding> findings;  // at most 16, the first ones
  std::vector<Access> observed;   // per binding: what was really read and written
  std::uint64_t executed = 0;     // operations times active units
};

/// `parameters` in ParameterLayout order, buffer_i long enough for its length. A faulting unit
/// goes on as DESIGN 6.2 says: loads give zero, stores do nothing, loop() is left at its next
/// back edge. Error only for what a verified kernel cannot do (LaunchFailed: an endless loop over
/// `step_limit` operations of one unit).
Result<RunOutcome> run(const Kernel& kernel, std::span<const BufferView> buffers,
                       std::span<const std::uint64_t> parameters, const RunOptions& options);

}  // namespace tessera::ir
