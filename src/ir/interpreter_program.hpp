// SPDX-License-Identifier: MIT OR Apache-2.0
// A kernel made ready to run: steps with dense registers instead of operations with ids.
//
// A register holds one lane of one value for all units. Registers are reused: a value's register
// is free once the step of its own region that last uses it (itself or in a region inside it) is
// done. A step's result never shares a register with its operands. Values that do not depend on
// the flow (constants, parameters, built-ins) are no steps: they keep a register for the whole run.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/kernel.hpp"
#include "ir/scalar_math.hpp"

namespace tessera::ir {

struct Operand {
  std::uint32_t reg = 0;  // of lane 0; the other lanes follow
  Type type;
};

struct Step {
  Opcode code{};
  Type type{};                   // of the result
  bool checked = false;          // test coordinates, fault outside
  bool leaves_together = false;  // loop: holds a barrier, so a fault makes every unit leave
  std::uint32_t out = none;      // register of the result
  std::uint32_t operands = 0;    // into Program::operands
  std::uint32_t operand_count = 0;
  RegionId region = none;  // first region
  std::uint32_t region_count = 0;
  std::uint64_t attr = 0;
  LaneFunction function = nullptr;  // lanewise operations, and what an atomic does
  Value value = none;               // the operation, for messages and sites
};

/// A value known without running anything, and the register that holds it.
struct Fixed {
  Value value;
  std::uint32_t reg;
};

struct Program {
  std::vector<std::vector<Step>> regions;  // by RegionId
  std::vector<Operand> operands;
  std::vector<Fixed> per_run;   // constants, parameters, positions inside the cube
  std::vector<Fixed> per_cube;  // positions that depend on the cube
  std::uint32_t registers = 0;

  const Operand& operand(const Step& step, std::uint32_t i) const {
    return operands[step.operands + i];
  }
};

Program lower(const Kernel& kernel, bool wide_index);

}  // namespace tessera::ir
