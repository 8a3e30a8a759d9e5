// SPDX-License-Identifier: MIT OR Apache-2.0
// Steps that compute values, and the unit's own variables.
#include <algorithm>
#include <cassert>

#include "ir/interpreter_run.hpp"

namespace tessera::ir {

void Run::lanewise(const Step& s, const Mask& mask) {
  assert(s.function != nullptr && s.operand_count >= 1 && s.operand_count <= 3);
  if (s.function == nullptr) return;
  const std::uint32_t first = mask.first;
  const std::uint32_t count = mask.end - mask.first;
  for (std::uint32_t lane = 0; lane < s.type.lanes; ++lane) {
    const std::uint64_t* args[3] = {};
    for (std::uint32_t i = 0; i < s.operand_count; ++i) args[i] = in(s, i, lane) + first;
    s.function(out(s, lane) + first, args[0], args[1], args[2], count);
  }
}

void Run::rearrange(const Step& s, const Mask& mask) {
  const auto copy = [&](const std::uint64_t* from, std::uint64_t* to) {
    std::copy(from + mask.first, from + mask.end, to + mask.first);
  };
  const auto chosen = static_cast<std::uint32_t>(s.attr);
  for (std::uint32_t lane = 0; lane < s.type.lanes; ++lane) {
    switch (s.code) {
      case Opcode::splat:
        copy(in(s, 0), out(s, lane));
        break;
      case Opcode::compose:
        copy(in(s, lane), out(s, lane));
        break;
      case Opcode::extract:
        copy(in(s, 0, chosen), out(s));
        break;
      default:
        copy(lane == chosen ? in(s, 1) : in(s, 0, lane), out(s, lane));
        break;  // insert
    }
  }
}

// The variable lives in the register of its slot operation.
void Run::slot(const Step& s, const Mask& mask) {
  const std::uint32_t lanes =
      s.code == Opcode::slot_store ? operand(s, 0).type.lanes : s.type.lanes;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    switch (s.code) {
      case Opcode::slot: {
        std::uint64_t* to = out(s, lane);
        for (std::uint32_t u = mask.first; u < mask.end; ++u) {
          if (mask.on[u] != 0) to[u] = 0;
        }
        break;
      }
      case Opcode::slot_load: {
        const std::uint64_t* from = in(s, 0, lane);
        std::copy(from + mask.first, from + mask.end, out(s, lane) + mask.first);
        break;
      }
      default: {
        const std::uint64_t* from = in(s, 1, lane);
        std::uint64_t* to = words(operand(s, 0).reg + lane);
        for (std::uint32_t u = mask.first; u < mask.end; ++u) {
          if (mask.on[u] != 0) to[u] = from[u];
        }
        break;
      }
    }
  }
}

void Run::check(const Step& s, const Mask& mask) {
  const std::uint64_t* condition = in(s, 0);
  const auto [dx, dy, dz] = kernel_.units;
  for (std::uint32_t u = mask.first; u < mask.end; ++u) {
    if (mask.on[u] == 0 || (condition[u] & 1) != 0) continue;
    const std::uint64_t x = cube_pos_[0] * dx + u % dx, y = cube_pos_[1] * dy + u / dx % dy,
                        z = cube_pos_[2] * dz + u / dx / dy;
    const std::uint64_t row = std::uint64_t{cubes_[0]} * dx, plane = std::uint64_t{cubes_[1]} * dy;
    fault(s, u, index_bits(x + row * (y + plane * z)));
  }
}

void Run::fault(const Step& s, std::uint32_t unit, std::uint64_t index) {
  faulted_[unit] = 1;
  any_faulted_ = true;
  if (!fault_) fault_ = RunFault{kernel_.op(s.value).site, index};
}

}  // namespace tessera::ir
