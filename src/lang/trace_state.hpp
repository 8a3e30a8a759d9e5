// SPDX-License-Identifier: MIT OR Apache-2.0
// The state of one trace.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/kernel.hpp"
#include "lang/trace.hpp"

namespace tessera::lang {

using detail::Opcode;
using detail::ValueRef;

/// Appends operations to the innermost open block and knows which values may be used where: a value
/// is usable while the block that made it is open. The first error wins and ends the recording;
/// what comes after it is ignored, so that the user's function runs on harmlessly.
class TraceState {
 public:
  TraceState(TraceInput input, std::uint32_t serial);

  ValueRef emit(Opcode code, ElemType type, std::span<const ValueRef> operands, std::uint64_t attr,
                SourceLoc where);
  ValueRef constant(Elem elem, std::uint64_t bits, SourceLoc where);
  ValueRef open(Opcode code, ElemType type, std::span<const ValueRef> operands, int regions,
                SourceLoc where);
  ValueRef reopen_else(bool chained, SourceLoc where);
  void close(SourceLoc where);
  detail::MemoryRef declare_shared(ElemType type, std::uint64_t count, bool atomic,
                                   SourceLoc where);
  void check(ValueRef condition, std::string_view message, SourceLoc where);
  void fail(std::string message, SourceLoc where);

  std::uint32_t serial() const noexcept { return serial_; }
  const ir::Kernel& kernel() const noexcept { return kernel_; }
  bool failed() const noexcept { return error_.has_value(); }
  /// The kernel, or why there is none.
  Result<ir::Kernel> finish();

 private:
  struct Block {
    ir::RegionId region;
    std::unordered_map<std::uint64_t, ir::Value> constants;  // by bits, of each element type
    int with_outer = 0;  // blocks around it that were reopened for it and close with it
  };
  void enter(ir::RegionId region, int with_outer);
  void track_regions();
  bool usable(ValueRef v, SourceLoc where);
  bool writable_block(SourceLoc where);
  std::uint32_t locate(SourceLoc where);
  std::string place(SourceLoc where) const;
  std::string place(std::uint32_t loc) const;
  ir::Value append(Opcode code, ElemType type, std::span<const ValueRef> operands,
                   std::uint64_t attr, std::uint32_t loc);

  ir::Kernel kernel_;
  std::uint32_t serial_;
  std::vector<Block> open_;
  std::vector<ir::RegionId> region_of_;  // by value
  std::vector<bool> region_open_;        // by region
  std::vector<bool> region_ended_;       // by region: its last operation was a jump
  std::vector<bool> region_entered_;     // by region: was open once
  std::vector<bool> region_chained_;     // by region: an else that holds the next condition
  std::unordered_map<std::string, std::uint32_t> located_;
  const char* last_file_ = nullptr;
  std::uint32_t last_line_ = 0, last_loc_ = 0;
  SourceLoc last_where_;
  std::optional<Error> error_;
};

}  // namespace tessera::lang
