// SPDX-License-Identifier: MIT OR Apache-2.0
// The body of a kernel as WGSL statements.
#pragma once

#include <string>
#include <vector>

#include "emit/wgsl_helpers.hpp"
#include "ir/kernel.hpp"
#include "ir/variant.hpp"

namespace tessera::emit {

/// The binding whose storage binding `i` uses.
inline std::size_t storage_of(const ir::Variant& variant, std::size_t i) {
  return variant.alias_of.empty() ? i : variant.alias_of[i];
}

/// One statement a value, named by its operation's number; constants are written where they are
/// used. A line comment names the source line where it changes.
class Statements {
 public:
  Statements(const ir::Kernel& kernel, const ir::Variant& variant, Helpers& helpers);

  std::string text();
  /// Whether some loop with a barrier must be left by all units of a cube where one has faulted.
  bool leaves_loops_together() const noexcept { return together_; }

 private:
  void region(ir::RegionId id);
  void statement(ir::Value v);
  void memory(ir::Value v);
  void atomic(ir::Value v);
  void for_loop(ir::Value v);
  void loop(ir::Value v);
  void check(ir::Value v);
  std::string builtin(ir::Value v) const;

  std::string name(ir::Value v) const;
  std::vector<std::string> names(ir::Value v) const;
  std::string element(ir::Value v) const;
  std::string in_range(ir::Value v) const;
  std::string fault_call(ir::Value v) const;
  bool checked(const ir::Op& op) const;
  bool has_barrier(ir::RegionId id) const;
  void line(const std::string& text);
  void source_line(const ir::Op& op);

  const ir::Kernel& k_;
  const ir::Variant& variant_;
  Helpers& helpers_;
  ir::ParameterLayout layout_;
  bool can_fault_;
  bool together_ = false;
  int depth_ = 1;
  std::uint32_t last_loc_ = ir::none;
  std::string out_;
};

}  // namespace tessera::emit
