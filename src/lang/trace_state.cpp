// SPDX-License-Identifier: MIT OR Apache-2.0
#include "lang/trace_state.hpp"

#include <fmt/format.h>

#include <utility>

#include "ir/op_info.hpp"
#include "ir/verifier.hpp"

namespace tessera::lang {
namespace {

bool is_jump(Opcode code) {
  return code == Opcode::break_ || code == Opcode::return_;
}

std::optional<ir::SiteKind> site_kind(Opcode code) {
  switch (code) {
    case Opcode::load:
    case Opcode::uniform_load:
      return ir::SiteKind::load;
    case Opcode::store:
      return ir::SiteKind::store;
    default:
      if (ir::info(code).has(ir::trait_atomic)) return ir::SiteKind::atomic;
      return std::nullopt;
  }
}

std::uint64_t constant_key(Elem elem, std::uint64_t bits) {
  // Distinct for every pair that the element types can hold: 64-bit patterns are mixed with an odd
  // multiple, and a clash would only be looked up again by the stored operation.
  return bits ^ (static_cast<std::uint64_t>(elem) * 0x9E3779B97F4A7C15ull);
}

}  // namespace

TraceState::TraceState(TraceInput input, std::uint32_t serial) : serial_(serial) {
  kernel_.name = std::move(input.name);
  kernel_.units = input.units;
  kernel_.checked = input.checked;
  kernel_.bindings = std::move(input.bindings);
  kernel_.scalars = std::move(input.scalars);
  kernel_.locs.push_back({});
  track_regions();
  enter(0, 0);
}

void TraceState::track_regions() {
  const std::size_t size = kernel_.regions.size();
  region_open_.resize(size, false);
  region_ended_.resize(size, false);
  region_entered_.resize(size, false);
  region_chained_.resize(size, false);
}

void TraceState::enter(ir::RegionId region, int with_outer) {
  open_.push_back({region, {}, with_outer});
  region_open_[region] = true;
  region_entered_[region] = true;
}

// Operators carry no place of their own (a C++ operator takes no default argument); they get that
// of what was recorded last, which is on the same line or next to it.
std::uint32_t TraceState::locate(SourceLoc where) {
  if (where.line == 0) return last_loc_;
  if (where.file == last_file_ && where.line == last_line_) return last_loc_;
  last_where_ = where;
  last_file_ = where.file;
  last_line_ = where.line;
  const std::string key = fmt::format("{}:{}", where.file, where.line);
  const auto [it, fresh] =
      located_.try_emplace(key, static_cast<std::uint32_t>(kernel_.locs.size()));
  if (fresh) kernel_.locs.push_back({where.file, where.line});
  last_loc_ = it->second;
  return last_loc_;
}

std::string TraceState::place(SourceLoc where) const {
  const SourceLoc at = where.line != 0 ? where : last_where_;
  return fmt::format("{}:{}", at.file, at.line);
}

std::string TraceState::place(std::uint32_t loc) const {
  return fmt::format("{}:{}", kernel_.locs[loc].file, kernel_.locs[loc].line);
}

void TraceState::fail(std::string message, SourceLoc where) {
  if (error_) return;
  const SourceLoc at = where.line != 0 ? where : last_where_;
  error_ = Error(ErrorKind::CompileFailed, fmt::format("{} ({})", message, place(where)), at)
               .with_kernel(kernel_.name);
}

bool TraceState::usable(ValueRef v, SourceLoc where) {
  if (v.trace != serial_) {
    fail(
        "A value of another kernel's trace is used here: values cannot outlive the call that "
        "made them",
        where);
    return false;
  }
  if (v.id >= kernel_.ops.size()) {
    fail("A value that was never made is used", where);
    return false;
  }
  if (!region_open_[region_of_[v.id]]) {
    fail(fmt::format("A value made in a block that has ended, at {}, is used outside it: keep it "
                     "in a Var declared before the block",
                     place(kernel_.ops[v.id].loc)),
         where);
    return false;
  }
  return true;
}

bool TraceState::writable_block(SourceLoc where) {
  const ir::RegionId region = open_.back().region;
  if (!region_ended_[region]) return true;
  fail(fmt::format("Nothing may follow $break or $return in its block; it stands at {}",
                   place(kernel_.ops[kernel_.regions[region].ops.back()].loc)),
       where);
  return false;
}

ir::Value TraceState::append(Opcode code, ElemType type, std::span<const ValueRef> operands,
                             std::uint64_t attr, std::uint32_t loc) {
  ir::Op op;
  op.code = code;
  op.type = type;
  op.attr = attr;
  op.loc = loc;
  op.operand_begin = static_cast<std::uint32_t>(kernel_.operands.size());
  op.operand_count = static_cast<std::uint16_t>(operands.size());
  for (const ValueRef v : operands) kernel_.operands.push_back(v.id);
  const ir::Value id = static_cast<ir::Value>(kernel_.ops.size());
  const ir::RegionId region = open_.back().region;
  kernel_.ops.push_back(op);
  kernel_.regions[region].ops.push_back(id);
  region_of_.push_back(region);
  return id;
}

ValueRef TraceState::emit(Opcode code, ElemType type, std::span<const ValueRef> operands,
                          std::uint64_t attr, SourceLoc where) {
  const std::uint32_t loc = locate(where);
  if (error_) return {};
  for (const ValueRef v : operands) {
    if (!usable(v, where)) return {};
  }
  if (!writable_block(where)) return {};
  const ir::Value id = append(code, type, operands, attr, loc);
  if (const std::optional<ir::SiteKind> kind = site_kind(code)) {
    kernel_.ops[id].flags |= ir::flag_checked;
    kernel_.ops[id].site = static_cast<std::uint32_t>(kernel_.sites.size());
    kernel_.sites.push_back({*kind, detail::unpack_memory(attr), loc, {}});
  }
  if (is_jump(code)) region_ended_[open_.back().region] = true;
  return {id, serial_};
}

ValueRef TraceState::constant(Elem elem, std::uint64_t bits, SourceLoc where) {
  if (error_) return {};
  const std::uint64_t key = constant_key(elem, bits);
  for (auto block = open_.rbegin(); block != open_.rend(); ++block) {
    const auto it = block->constants.find(key);
    if (it == block->constants.end()) continue;
    const ir::Op& op = kernel_.ops[it->second];
    if (op.attr == bits && op.type.elem == elem) return {it->second, serial_};
  }
  const ValueRef v = emit(Opcode::constant, {elem, 1}, {}, bits, where);
  if (!error_) open_.back().constants.insert_or_assign(key, v.id);
  return v;
}

ValueRef TraceState::open(Opcode code, ElemType type, std::span<const ValueRef> operands,
                          int regions, SourceLoc where) {
  const ValueRef op = emit(code, type, operands, 0, where);
  // Blocks open and close even after an error, so that scopes stay in step.
  const auto first = static_cast<ir::RegionId>(kernel_.regions.size());
  kernel_.regions.resize(kernel_.regions.size() + static_cast<std::size_t>(regions));
  track_regions();
  if (!error_) {
    kernel_.ops[op.id].region_begin = first;
    kernel_.ops[op.id].region_count = static_cast<std::uint16_t>(regions);
    // The induction variable belongs to the body: it ends with it.
    if (code == Opcode::for_) region_of_[op.id] = first;
  }
  enter(first, 0);
  return op;
}

// The if is the block's last operation. Where its else holds the next condition of a chain, the if
// meant is the last operation in there, and so on; the elses on the way are open again meanwhile.
ValueRef TraceState::reopen_else(bool chained, SourceLoc where) {
  ir::RegionId within = open_.back().region;
  int outer = 0;
  ir::RegionId side = ir::none;
  while (!error_) {
    const auto& ops = kernel_.regions[within].ops;
    if (ops.empty() || kernel_.ops[ops.back()].code != Opcode::if_) break;
    const ir::RegionId other = kernel_.ops[ops.back()].region_begin + 1;
    if (!region_entered_[other]) {
      side = other;
      break;
    }
    if (!region_chained_[other] || region_open_[other]) break;
    enter(other, 0);
    ++outer;
    within = other;
  }
  if (side == ir::none) {
    fail("$else or $elif does not follow an $if of its block directly", where);
    side = static_cast<ir::RegionId>(kernel_.regions.size());
    kernel_.regions.emplace_back();
    track_regions();
  }
  region_chained_[side] = chained;
  enter(side, outer);
  return {};
}

void TraceState::close(SourceLoc where) {
  for (int more = open_.back().with_outer; more >= 0; --more) {
    if (open_.size() <= 1) return fail("A block was closed that was never opened", where);
    region_open_[open_.back().region] = false;
    open_.pop_back();
  }
}

detail::MemoryRef TraceState::declare_shared(ElemType type, std::uint64_t count, bool atomic,
                                             SourceLoc where) {
  if (count == 0) fail("A shared block needs at least one element", where);
  kernel_.shared.push_back({type, count, atomic, locate(where)});
  return {true, static_cast<std::uint32_t>(kernel_.shared.size() - 1)};
}

void TraceState::check(ValueRef condition, std::string_view message, SourceLoc where) {
  const ValueRef operands[] = {condition};
  const ValueRef v = emit(Opcode::check, {}, operands, 0, where);
  if (error_) return;
  ir::Op& op = kernel_.ops[v.id];
  op.site = static_cast<std::uint32_t>(kernel_.sites.size());
  op.attr = op.site;
  kernel_.sites.push_back({ir::SiteKind::check, {}, op.loc, std::string(message)});
}

Result<ir::Kernel> TraceState::finish() {
  if (!error_ && open_.size() != 1) fail("A device block was still open at the kernel's end", {});
  if (error_) return *error_;
  if (Status verified = ir::verify(kernel_); !verified) {
    return verified.error().with_kernel(kernel_.name);
  }
  return std::move(kernel_);
}

}  // namespace tessera::lang
