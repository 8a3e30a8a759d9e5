// SPDX-License-Identifier: MIT OR Apache-2.0
#include "ir/interpreter_run.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::ir {

void Mask::recount() {
  count = 0;
  const auto size = static_cast<std::uint32_t>(on.size());
  std::uint32_t low = size, high = 0;
  for (std::uint32_t u = 0; u < size; ++u) {
    if (on[u] == 0) continue;
    ++count;
    low = std::min(low, u);
    high = u + 1;
  }
  first = std::min(low, high);
  end = high;
}

Run::Run(const Kernel& kernel, std::span<const BufferView> buffers,
         std::span<const std::uint64_t> parameters, const RunOptions& options)
    : kernel_(kernel),
      parameters_(parameters),
      cubes_(options.cubes),
      wide_index_(options.wide_index),
      units_(static_cast<std::uint32_t>(kernel.unit_count())),
      program_(lower(kernel, options.wide_index)),
      memory_(kernel, buffers, parameters, options),
      findings_(kernel, options.cubes),
      registers_(std::size_t{program_.registers} * units_),
      returned_(units_),
      faulted_(units_) {}

Result<RunOutcome> Run::all() {
  fill_run_values();
  const std::uint64_t count = std::uint64_t{cubes_[0]} * cubes_[1] * cubes_[2];
  for (std::uint64_t c = 0; c < count && !stopped_; ++c) cube(c);
  if (stopped_) return *stopped_;
  RunOutcome outcome;
  outcome.fault = fault_;
  outcome.findings = findings_.take();
  outcome.observed = memory_.observed();
  outcome.executed = executed_;
  return outcome;
}

void Run::fill(const Fixed& fixed, std::uint64_t bits) {
  const std::size_t lanes = kernel_.op(fixed.value).type.lanes;
  std::fill_n(words(fixed.reg), lanes * units_, bits);
}

void Run::fill_run_values() {
  const ParameterLayout layout = parameter_layout(kernel_);
  const auto [dx, dy, dz] = kernel_.units;
  for (const Fixed& fixed : program_.per_run) {
    const Op& op = kernel_.op(fixed.value);
    const auto low = static_cast<std::uint32_t>(op.attr);
    const auto axis = static_cast<std::uint32_t>(op.attr >> 32);
    switch (op.code) {
      case Opcode::constant:
        fill(fixed, op.attr);
        break;
      case Opcode::scalar:
        fill(fixed, normalise(op.type.elem, parameters_[low], wide_index_));
        break;
      case Opcode::length:
        fill(fixed, index_bits(parameters_[layout.lengths + low]));
        break;
      case Opcode::shape:
        fill(fixed, index_bits(parameters_[layout.shapes[low] + axis]));
        break;
      case Opcode::stride:
        fill(fixed, index_bits(parameters_[layout.strides[low] + axis]));
        break;
      default: {  // a built-in
        std::uint64_t* to = words(fixed.reg);
        for (std::uint32_t u = 0; u < units_; ++u) {
          std::uint64_t x = 0;
          switch (static_cast<Builtin>(op.attr)) {
            case Builtin::unit_pos_x:
              x = u % dx;
              break;
            case Builtin::unit_pos_y:
              x = u / dx % dy;
              break;
            case Builtin::unit_pos_z:
              x = u / dx / dy;
              break;
            case Builtin::unit_pos:
              x = u;
              break;
            case Builtin::cube_dim_x:
              x = dx;
              break;
            case Builtin::cube_dim_y:
              x = dy;
              break;
            case Builtin::cube_dim_z:
              x = dz;
              break;
            case Builtin::cube_dim:
              x = units_;
              break;
            case Builtin::cube_count_x:
              x = cubes_[0];
              break;
            case Builtin::cube_count_y:
              x = cubes_[1];
              break;
            case Builtin::cube_count_z:
              x = cubes_[2];
              break;
            default:
              x = std::uint64_t{cubes_[0]} * cubes_[1] * cubes_[2];
              break;
          }
          to[u] = index_bits(x);
        }
      }
    }
  }
}

void Run::fill_cube_values() {
  const auto [dx, dy, dz] = kernel_.units;
  const std::uint64_t wide_x = std::uint64_t{cubes_[0]} * dx,
                      wide_y = std::uint64_t{cubes_[1]} * dy;
  for (const Fixed& fixed : program_.per_cube) {
    const auto builtin = static_cast<Builtin>(kernel_.op(fixed.value).attr);
    std::uint64_t* to = words(fixed.reg);
    for (std::uint32_t u = 0; u < units_; ++u) {
      const std::uint64_t x = cube_pos_[0] * dx + u % dx, y = cube_pos_[1] * dy + u / dx % dy,
                          z = cube_pos_[2] * dz + u / dx / dy;
      std::uint64_t value = 0;
      switch (builtin) {
        case Builtin::cube_pos_x:
          value = cube_pos_[0];
          break;
        case Builtin::cube_pos_y:
          value = cube_pos_[1];
          break;
        case Builtin::cube_pos_z:
          value = cube_pos_[2];
          break;
        case Builtin::cube_pos:
          value = cube_linear_;
          break;
        case Builtin::absolute_pos_x:
          value = x;
          break;
        case Builtin::absolute_pos_y:
          value = y;
          break;
        case Builtin::absolute_pos_z:
          value = z;
          break;
        default:
          value = x + wide_x * (y + wide_y * z);
          break;
      }
      to[u] = index_bits(value);
    }
  }
}

void Run::cube(std::uint64_t linear) {
  cube_linear_ = linear;
  cube_pos_ = {linear % cubes_[0], linear / cubes_[0] % cubes_[1], linear / cubes_[0] / cubes_[1]};
  memory_.begin_cube(linear);
  fill_cube_values();
  std::fill(returned_.begin(), returned_.end(), std::uint8_t{0});
  std::fill(faulted_.begin(), faulted_.end(), std::uint8_t{0});
  returned_count_ = 0;
  any_faulted_ = false;
  Mask& mask = push_mask();
  std::fill(mask.on.begin(), mask.on.end(), std::uint8_t{1});
  mask.recount();
  block(0, mask);
  pop_mask();
}

Mask& Run::push_mask() {
  if (masks_used_ == masks_.size()) {
    masks_.emplace_back();
    masks_.back().on.resize(units_);
  }
  return masks_[masks_used_++];
}

void Run::block(RegionId region, Mask& mask) {
  for (const Step& s : program_.regions[region]) {
    if (mask.count == 0 || stopped_) return;
    ++steps_;
    executed_ += mask.count;
    step(s, mask);
  }
}

void Run::step(const Step& s, Mask& mask) {
  switch (s.code) {
    case Opcode::splat:
    case Opcode::compose:
    case Opcode::extract:
    case Opcode::insert:
      return rearrange(s, mask);
    case Opcode::slot:
    case Opcode::slot_load:
    case Opcode::slot_store:
      return slot(s, mask);
    case Opcode::load:
      return load(s, mask);
    case Opcode::load_or:
      return load_or(s, mask);
    case Opcode::store:
      return store(s, mask);
    case Opcode::uniform_load:
      barrier(s, mask);
      load(s, mask);
      // Nobody may change the value before everybody has it.
      memory_.barrier();
      return;
    case Opcode::atomic_load:
    case Opcode::atomic_store:
    case Opcode::atomic_exchange:
    case Opcode::atomic_add:
    case Opcode::atomic_sub:
    case Opcode::atomic_min:
    case Opcode::atomic_max:
    case Opcode::atomic_and:
    case Opcode::atomic_or:
    case Opcode::atomic_xor:
    case Opcode::atomic_cas:
      return atomic(s, mask);
    case Opcode::sync_cube:
      return barrier(s, mask);
    case Opcode::if_:
      return if_(s, mask);
    case Opcode::for_:
      return for_(s, mask);
    case Opcode::loop:
      return loop(s, mask);
    case Opcode::break_unless:
      return break_unless(s, mask);
    case Opcode::break_:
      std::fill(mask.on.begin(), mask.on.end(), std::uint8_t{0});
      return mask.recount();
    case Opcode::return_:
      for (std::uint32_t u = mask.first; u < mask.end; ++u) returned_[u] |= mask.on[u];
      returned_count_ += mask.count;
      std::fill(mask.on.begin(), mask.on.end(), std::uint8_t{0});
      return mask.recount();
    case Opcode::check:
      return check(s, mask);
    default:
      return lanewise(s, mask);
  }
}

void Run::if_(const Step& s, Mask& mask) {
  const std::uint64_t* condition = in(s, 0);
  Mask& yes = push_mask();
  Mask& no = push_mask();
  for (std::uint32_t u = 0; u < units_; ++u) {
    const auto taken = static_cast<std::uint8_t>(condition[u] & 1);
    yes.on[u] = mask.on[u] & taken;
    no.on[u] = mask.on[u] & (taken ^ 1);
  }
  yes.recount();
  no.recount();
  if (yes.count != 0) block(s.region, yes);
  if (no.count != 0 && s.region_count > 1) block(s.region + 1, no);
  if (yes.count + no.count != mask.count) {
    for (std::uint32_t u = 0; u < units_; ++u) mask.on[u] = yes.on[u] | no.on[u];
    mask.recount();
  }
  pop_mask();
  pop_mask();
}

void Run::after_loop(Mask& mask) {
  if (returned_count_ == 0) return;
  for (std::uint32_t u = mask.first; u < mask.end; ++u) {
    if (returned_[u] != 0) mask.on[u] = 0;
  }
  mask.recount();
}

void Run::for_(const Step& s, Mask& mask) {
  const std::uint64_t* begin = in(s, 0);
  const std::uint64_t* end = in(s, 1);
  const std::uint64_t* stride = in(s, 2);
  const Elem elem = operand(s, 0).type.elem;
  std::vector<std::uint64_t> trips(units_);
  std::uint64_t most = 0;
  for (std::uint32_t u = mask.first; u < mask.end; ++u) {
    if (mask.on[u] == 0) continue;
    // Distances are exact in 64 unsigned bits, whichever way and type they run.
    std::uint64_t distance = 0, pace = 0;
    if (is_signed_int(elem)) {
      const std::int64_t b = widen(elem, begin[u]), e = widen(elem, end[u]),
                         t = widen(elem, stride[u]);
      const auto ub = static_cast<std::uint64_t>(b), ue = static_cast<std::uint64_t>(e);
      if (t > 0 && b < e) distance = ue - ub, pace = static_cast<std::uint64_t>(t);
      if (t < 0 && b > e) distance = ub - ue, pace = 0 - static_cast<std::uint64_t>(t);
    } else if (stride[u] != 0 && begin[u] < end[u]) {
      distance = end[u] - begin[u];
      pace = stride[u];
    }
    trips[u] = distance == 0 ? 0 : (distance - 1) / pace + 1;
    most = std::max(most, trips[u]);
  }
  Mask& body = push_mask();
  std::vector<std::uint8_t> inside = mask.on;
  std::uint64_t* counter = out(s);
  for (std::uint64_t k = 0; k < most && !stopped_; ++k) {
    for (std::uint32_t u = 0; u < units_; ++u) {
      inside[u] &= static_cast<std::uint8_t>(k < trips[u]);
      body.on[u] = inside[u];
      // Reached only by units still inside, for which it does not leave the range.
      counter[u] = normalise(elem, begin[u] + k * stride[u], wide_index_);
    }
    body.recount();
    if (body.count == 0) break;
    block(s.region, body);
    std::copy(body.on.begin(), body.on.end(), inside.begin());
  }
  pop_mask();
  after_loop(mask);
}

void Run::loop(const Step& s, Mask& mask) {
  Mask& body = push_mask();
  std::copy(mask.on.begin(), mask.on.end(), body.on.begin());
  body.count = mask.count;
  body.first = mask.first;
  body.end = mask.end;
  const std::uint64_t entered = steps_;
  while (body.count != 0 && !stopped_) {
    block(s.region, body);
    if (any_faulted_ && body.count != 0) {
      for (std::uint32_t u = 0; u < units_; ++u) {
        if (s.leaves_together || faulted_[u] != 0) body.on[u] = 0;
      }
      body.recount();
    }
    // A region without steps would never count.
    ++steps_;
    if (steps_ - entered > step_limit && body.count != 0) {
      const Op& op = kernel_.op(s.value);
      const bool known = op.loc < kernel_.locs.size();
      stopped_ =
          Error(ErrorKind::LaunchFailed,
                fmt::format(
                    "The loop at {}:{} of kernel '{}' did not end within {} operations of one "
                    "unit; give it a condition that becomes false.",
                    known ? kernel_.locs[op.loc].file : "?", known ? kernel_.locs[op.loc].line : 0,
                    kernel_.name, step_limit))
              .with_kernel(kernel_.name);
    }
  }
  pop_mask();
  after_loop(mask);
}

void Run::break_unless(const Step& s, Mask& mask) {
  const std::uint64_t* condition = in(s, 0);
  bool changed = false;
  for (std::uint32_t u = mask.first; u < mask.end; ++u) {
    if (mask.on[u] != 0 && (condition[u] & 1) == 0) {
      mask.on[u] = 0;
      changed = true;
    }
  }
  if (changed) mask.recount();
}

void Run::barrier(const Step& s, const Mask& mask) {
  if (mask.count != units_) {
    findings_.divergent({cube_linear_, mask.first, s.value}, mask.count, returned_count_);
  }
  memory_.barrier();
}

}  // namespace tessera::ir
