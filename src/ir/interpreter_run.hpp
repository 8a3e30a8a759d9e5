// SPDX-License-Identifier: MIT OR Apache-2.0
// Executes a lowered kernel, one cube after the other, all units of a cube in step.
//
// Control is masks. A region gets the units that enter it and leaves in the mask those that reach
// its end: who breaks or returns is taken out on the way. So an if's units are those left of its
// branches, and a loop's are those that entered it and did not return. Lanewise steps compute the
// whole span between the first and the last active unit: they cannot trap, and what they compute
// for others is never read. Steps with effects go by the mask.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "ir/interpreter.hpp"
#include "ir/interpreter_findings.hpp"
#include "ir/interpreter_memory.hpp"
#include "ir/interpreter_program.hpp"

namespace tessera::ir {

/// Steps that one `loop` may take before the run is given up as endless.
inline constexpr std::uint64_t step_limit = std::uint64_t{1} << 26;

struct Mask {
  std::vector<std::uint8_t> on;  // by unit, 0 or 1
  std::uint32_t count = 0;
  std::uint32_t first = 0, end = 0;  // span that holds every active unit

  void recount();
};

class Run {
 public:
  Run(const Kernel& kernel, std::span<const BufferView> buffers,
      std::span<const std::uint64_t> parameters, const RunOptions& options);
  Result<RunOutcome> all();

 private:
  // interpreter_run.cpp: cubes, fixed values, control
  void fill_run_values();
  void fill_cube_values();
  void fill(const Fixed& fixed, std::uint64_t bits);
  std::uint64_t index_bits(std::uint64_t x) const { return wide_index_ ? x : x & 0xFFFFFFFF; }
  void cube(std::uint64_t linear);
  void block(RegionId region, Mask& mask);
  void step(const Step& step, Mask& mask);
  void if_(const Step& step, Mask& mask);
  void for_(const Step& step, Mask& mask);
  void loop(const Step& step, Mask& mask);
  void break_unless(const Step& step, Mask& mask);
  void barrier(const Step& step, const Mask& mask);
  void after_loop(Mask& mask);
  Mask& push_mask();
  void pop_mask() { --masks_used_; }

  // interpreter_steps.cpp: values
  void lanewise(const Step& step, const Mask& mask);
  void rearrange(const Step& step, const Mask& mask);
  void slot(const Step& step, const Mask& mask);
  void check(const Step& step, const Mask& mask);

  // interpreter_access.cpp: memory
  struct Spot {
    bool inside;
    std::uint64_t element;
    std::uint64_t fault_index;
  };
  Spot locate(const Place& place, const Step& step, std::uint32_t unit) const;
  std::uint64_t coordinate(const Step& step, std::uint32_t i, std::uint32_t unit) const;
  bool reachable(const Place& place, const Step& step, const Spot& spot, std::uint32_t unit);
  void load(const Step& step, const Mask& mask);
  void load_or(const Step& step, const Mask& mask);
  void store(const Step& step, const Mask& mask);
  void atomic(const Step& step, const Mask& mask);
  void fault(const Step& step, std::uint32_t unit, std::uint64_t index);

  std::uint64_t* words(std::uint32_t reg) { return registers_.data() + std::size_t{reg} * units_; }
  const std::uint64_t* words(std::uint32_t reg) const {
    return registers_.data() + std::size_t{reg} * units_;
  }
  std::uint64_t* out(const Step& step, std::uint32_t lane = 0) { return words(step.out + lane); }
  const Operand& operand(const Step& step, std::uint32_t i) const {
    return program_.operand(step, i);
  }
  // A scalar operand serves every lane.
  const std::uint64_t* in(const Step& step, std::uint32_t i, std::uint32_t lane = 0) const {
    const Operand& o = operand(step, i);
    return words(o.reg + (o.type.lanes > 1 ? lane : 0));
  }

  const Kernel& kernel_;
  std::span<const std::uint64_t> parameters_;
  std::array<std::uint32_t, 3> cubes_;
  bool wide_index_;
  std::uint32_t units_;
  Program program_;
  Memory memory_;
  Findings findings_;
  std::vector<std::uint64_t> registers_;
  std::deque<Mask> masks_;  // a stack whose buffers stay
  std::size_t masks_used_ = 0;
  std::vector<std::uint8_t> returned_, faulted_;  // of the current cube
  std::uint32_t returned_count_ = 0;
  bool any_faulted_ = false;
  std::array<std::uint64_t, 3> cube_pos_{};
  std::uint64_t cube_linear_ = 0;
  std::optional<RunFault> fault_;
  std::uint64_t steps_ = 0, executed_ = 0;
  std::optional<Error> stopped_;
};

}  // namespace tessera::ir
