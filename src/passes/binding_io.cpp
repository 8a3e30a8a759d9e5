// SPDX-License-Identifier: MIT OR Apache-2.0
#include "passes/binding_io.hpp"

#include "ir/op_info.hpp"
#include "passes/rewrite.hpp"

namespace tessera::passes {

void analyse_binding_io(ir::Kernel& kernel) {
  for (ir::BindingParam& b : kernel.bindings) b.analysed = ir::Access::none;
  walk(kernel, 0, [&](Value v) {
    const Op& op = kernel.ops[v];
    if (op.code < Opcode::load || op.code > Opcode::atomic_cas) return;
    const ir::MemoryRef memory = detail::unpack_memory(op.attr);
    if (memory.shared) return;
    const ir::OpInfo& row = ir::info(op.code);
    int access = static_cast<int>(kernel.bindings[memory.index].analysed);
    if (row.has(ir::trait_reads)) access |= static_cast<int>(ir::Access::in);
    if (row.has(ir::trait_writes)) access |= static_cast<int>(ir::Access::out);
    kernel.bindings[memory.index].analysed = static_cast<ir::Access>(access);
  });
}

}  // namespace tessera::passes
