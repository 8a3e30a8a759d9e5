// SPDX-License-Identifier: MIT OR Apache-2.0
#include "ir/kernel.hpp"

namespace tessera::ir {
namespace {

bool region_can_fault(const Kernel& kernel, RegionId region) {
  for (const Value v : kernel.regions[region].ops) {
    const Op& op = kernel.ops[v];
    if (op.code == Opcode::check) return true;
    if ((op.flags & flag_checked) != 0 && kernel.checked) return true;
    for (int r = 0; r < op.region_count; ++r) {
      if (region_can_fault(kernel, op.region_begin + static_cast<RegionId>(r))) return true;
    }
  }
  return false;
}

}  // namespace

int coordinate_count(const Kernel& kernel, const Op& op) {
  const MemoryRef memory = detail::unpack_memory(op.attr);
  if (memory.shared) return 1;
  const int rank = kernel.bindings[memory.index].rank;
  return rank == 0 ? 1 : rank;
}

bool can_fault(const Kernel& kernel) {
  return region_can_fault(kernel, 0);
}

ParameterLayout parameter_layout(const Kernel& kernel) {
  ParameterLayout layout;
  std::uint32_t next = static_cast<std::uint32_t>(kernel.scalars.size());
  layout.lengths = next;
  next += static_cast<std::uint32_t>(kernel.bindings.size());
  for (const BindingParam& b : kernel.bindings) {
    layout.shapes.push_back(b.rank == 0 ? none : next);
    layout.strides.push_back(b.rank == 0 ? none : next + b.rank);
    next += 2u * b.rank;
  }
  layout.count = next;
  return layout;
}

}  // namespace tessera::ir
