// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/launch/count_guard.hpp"

#include "lang/trace.hpp"
#include "tessera/lang/builder.hpp"

namespace tessera::server {
namespace {

using namespace detail;

constexpr ElemType u32_type{Elem::u32, 1};
constexpr ElemType bool_type{Elem::boolean, 1};

// Written against the builder, not the language's classes: the server comes before the launch
// face that names kernels of the language.
void body(void*) {
  const SourceLoc here = SourceLoc::current();
  ValueRef counts[3], fits;
  for (std::uint32_t axis = 0; axis < 3; ++axis) {
    const ValueRef at = constant(Elem::index, axis, here);
    counts[axis] = emit(Opcode::load, u32_type, {at}, pack(MemoryRef{false, 0}), here);
    const ValueRef limit = emit(Opcode::scalar, u32_type, {}, axis, here);
    const ValueRef within = emit(Opcode::le, bool_type, {counts[axis], limit}, 0, here);
    emit_check(within, "the cube count that the device computed is over the launch's at_most",
               here);
    fits = axis == 0 ? within : emit(Opcode::bit_and, bool_type, {fits, within}, 0, here);
  }
  const ValueRef zero = constant(Elem::u32, 0, here);
  for (std::uint32_t axis = 0; axis < 3; ++axis) {
    const ValueRef count = emit(Opcode::select, u32_type, {fits, counts[axis], zero}, 0, here);
    const ValueRef at = constant(Elem::index, axis, here);
    emit(Opcode::store, {}, {at, count}, pack(MemoryRef{false, 1}), here);
  }
}

}  // namespace

Result<ir::Kernel> make_count_guard() {
  lang::TraceInput input;
  input.name = "count_guard";
  const auto binding = [](const char* name, Access access) {
    ir::BindingParam b;
    b.name = name;
    b.type = u32_type;
    b.declared = access;
    return b;
  };
  input.bindings = {binding("counts", Access::in), binding("page", Access::out)};
  for (const char* name : {"x", "y", "z"}) input.scalars.push_back({name, Elem::u32});
  return lang::trace(std::move(input), &body, nullptr);
}

}  // namespace tessera::server
