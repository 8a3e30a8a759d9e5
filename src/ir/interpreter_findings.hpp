// SPDX-License-Identifier: MIT OR Apache-2.0
// Collects what a run finds and words it. One finding per place in the kernel, 16 in all.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/interpreter.hpp"

namespace tessera::ir {

/// A unit of a cube, both counted linearly, and the operation it performs.
struct Actor {
  std::uint64_t cube = 0;
  std::uint32_t unit = 0;
  Value op = none;
};

class Findings {
 public:
  Findings(const Kernel& kernel, std::array<std::uint32_t, 3> cubes)
      : kernel_(kernel), cubes_(cubes) {}

  /// `what` and `other_what` are words such as "reads" and "writes".
  void race(MemoryRef memory, std::uint64_t element, Actor actor, const char* what, Actor other,
            const char* other_what);
  void unwritten(MemoryRef memory, std::uint64_t element, Actor actor);
  void divergent(Actor actor, std::uint32_t arrived, std::uint32_t returned);

  std::vector<Finding> take() { return std::move(found_); }

 private:
  bool wants(FindingKind kind, Value a, Value b);
  std::string memory_name(MemoryRef memory) const;
  std::string place(Value op) const;
  std::string actor_name(Actor actor) const;

  const Kernel& kernel_;
  std::array<std::uint32_t, 3> cubes_;
  std::vector<Finding> found_;
  std::set<std::tuple<FindingKind, Value, Value>> known_;
};

}  // namespace tessera::ir
