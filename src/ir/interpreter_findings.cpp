// SPDX-License-Identifier: MIT OR Apache-2.0
#include "ir/interpreter_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace tessera::ir {
namespace {

constexpr std::size_t most_findings = 16;

std::string position(std::uint64_t linear, const std::array<std::uint32_t, 3>& extent) {
  const std::uint64_t x = extent[0] == 0 ? 1 : extent[0], y = extent[1] == 0 ? 1 : extent[1];
  return fmt::format("({}, {}, {})", linear % x, linear / x % y, linear / x / y);
}

}  // namespace

bool Findings::wants(FindingKind kind, Value a, Value b) {
  if (found_.size() >= most_findings) return false;
  return known_.emplace(kind, std::min(a, b), std::max(a, b)).second;
}

std::string Findings::memory_name(MemoryRef memory) const {
  if (memory.shared) return fmt::format("shared block {}", memory.index);
  return fmt::format("binding {} ('{}')", memory.index, kernel_.bindings[memory.index].name);
}

std::string Findings::place(Value op) const {
  const std::uint32_t loc = kernel_.op(op).loc;
  if (loc >= kernel_.locs.size()) return "an unknown line";
  return fmt::format("{}:{}", kernel_.locs[loc].file, kernel_.locs[loc].line);
}

std::string Findings::actor_name(Actor actor) const {
  return fmt::format("unit {} of cube {}", position(actor.unit, kernel_.units),
                     position(actor.cube, cubes_));
}

void Findings::race(MemoryRef memory, std::uint64_t element, Actor actor, const char* what,
                    Actor other, const char* other_what) {
  if (!wants(FindingKind::race, actor.op, other.op)) return;
  found_.push_back(
      {FindingKind::race,
       fmt::format("Kernel '{}': {} {} element {} of {} at {}, which {} {} at {}, and nothing "
                   "orders the two.",
                   kernel_.name, actor_name(actor), what, element, memory_name(memory),
                   place(actor.op), actor_name(other), other_what, place(other.op))});
}

void Findings::unwritten(MemoryRef memory, std::uint64_t element, Actor actor) {
  if (!wants(FindingKind::unwritten_read, actor.op, actor.op)) return;
  found_.push_back({FindingKind::unwritten_read,
                    fmt::format("Kernel '{}': {} reads element {} of {} at {}, which nothing wrote "
                                "before.",
                                kernel_.name, actor_name(actor), element, memory_name(memory),
                                place(actor.op))});
}

void Findings::divergent(Actor actor, std::uint32_t arrived, std::uint32_t returned) {
  if (!wants(FindingKind::divergent_barrier, actor.op, actor.op)) return;
  found_.push_back(
      {FindingKind::divergent_barrier,
       fmt::format("Kernel '{}': only {} of the {} units of cube {} reach the barrier at {} "
                   "({} returned before).",
                   kernel_.name, arrived, kernel_.unit_count(), position(actor.cube, cubes_),
                   place(actor.op), returned)});
}

}  // namespace tessera::ir
