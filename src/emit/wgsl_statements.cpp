// SPDX-License-Identifier: MIT OR Apache-2.0
#include "emit/wgsl_statements.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "emit/info_layout.hpp"
#include "emit/wgsl_expression.hpp"
#include "emit/wgsl_names.hpp"
#include "ir/op_info.hpp"

namespace tessera::emit {

using ir::Op;
using ir::Opcode;
using ir::Value;

Statements::Statements(const ir::Kernel& kernel, const ir::Variant& variant, Helpers& helpers)
    : k_(kernel),
      variant_(variant),
      helpers_(helpers),
      layout_(ir::parameter_layout(kernel)),
      can_fault_(ir::can_fault(kernel)) {}

std::string Statements::text() {
  region(0);
  return std::move(out_);
}

void Statements::line(const std::string& text) {
  out_.append(static_cast<std::size_t>(2 * depth_), ' ');
  out_ += text;
  out_ += '\n';
}

void Statements::source_line(const Op& op) {
  if (op.loc == last_loc_ || k_.locs[op.loc].line == 0) return;
  last_loc_ = op.loc;
  const std::string& file = k_.locs[op.loc].file;
  const std::size_t slash = file.rfind('/');
  std::string base = slash == std::string::npos ? file : file.substr(slash + 1);
  std::replace_if(base.begin(), base.end(), [](char c) { return c < ' '; }, ' ');
  line(fmt::format("// {}:{}", base, k_.locs[op.loc].line));
}

std::string Statements::name(Value v) const {
  const Op& op = k_.op(v);
  if (op.code == Opcode::constant) return wgsl_literal(op.type.elem, op.attr);
  return fmt::format("v{}", v);
}

std::vector<std::string> Statements::names(Value v) const {
  std::vector<std::string> out;
  for (const Value a : k_.args(v)) out.push_back(name(a));
  return out;
}

bool Statements::checked(const Op& op) const {
  return k_.checked && (op.flags & ir::flag_checked) != 0;
}

// The element that the coordinates name.
std::string Statements::element(Value v) const {
  const Op& op = k_.op(v);
  const ir::MemoryRef m = detail::unpack_memory(op.attr);
  if (m.shared) return fmt::format("s{}[{}]", m.index, name(k_.arg(v, 0)));
  const auto storage = storage_of(variant_, m.index);
  const int rank = k_.bindings[m.index].rank;
  if (rank == 0) return fmt::format("b{}[{}]", storage, name(k_.arg(v, 0)));
  std::string index;
  for (int axis = 0; axis < rank; ++axis) {
    index += fmt::format(
        "{}{} * {}", axis > 0 ? " + " : "", name(k_.arg(v, axis)),
        wgsl_info(info_parameters + layout_.strides[m.index] + static_cast<std::uint32_t>(axis)));
  }
  return fmt::format("b{}[{}]", storage, index);
}

std::string Statements::in_range(Value v) const {
  const Op& op = k_.op(v);
  const ir::MemoryRef m = detail::unpack_memory(op.attr);
  if (m.shared) return fmt::format("{} < {}u", name(k_.arg(v, 0)), k_.shared[m.index].count);
  const int rank = k_.bindings[m.index].rank;
  if (rank == 0) {
    return fmt::format("{} < {}", name(k_.arg(v, 0)),
                       wgsl_info(info_parameters + layout_.lengths + m.index));
  }
  std::string out;
  for (int axis = 0; axis < rank; ++axis) {
    out += fmt::format(
        "{}{} < {}", axis > 0 ? " && " : "", name(k_.arg(v, axis)),
        wgsl_info(info_parameters + layout_.shapes[m.index] + static_cast<std::uint32_t>(axis)));
  }
  return out;
}

std::string Statements::fault_call(Value v) const {
  const Op& op = k_.op(v);
  const ir::MemoryRef m = detail::unpack_memory(op.attr);
  const int rank = m.shared ? 0 : k_.bindings[m.index].rank;
  std::string low = name(k_.arg(v, 0)), high = "0u";
  if (rank == 2) {
    low = name(k_.arg(v, 1));
    high = name(k_.arg(v, 0));
  } else if (rank > 2) {
    for (int axis = 1; axis < rank; ++axis) {
      low = fmt::format(
          "(({}) * {} + {})", low,
          wgsl_info(info_parameters + layout_.shapes[m.index] + static_cast<std::uint32_t>(axis)),
          name(k_.arg(v, axis)));
    }
  }
  return fmt::format("tess_fault({}u, {}, {});", op.site, low, high);
}

bool Statements::has_barrier(ir::RegionId id) const {
  for (const Value v : k_.regions[id].ops) {
    const Op& op = k_.op(v);
    if (ir::info(op.code).has(ir::trait_convergent)) return true;
    for (int r = 0; r < op.region_count; ++r) {
      if (has_barrier(op.region_begin + static_cast<ir::RegionId>(r))) return true;
    }
  }
  return false;
}

void Statements::region(ir::RegionId id) {
  for (const Value v : k_.regions[id].ops) statement(v);
}

void Statements::statement(Value v) {
  const Op& op = k_.op(v);
  if (op.code == Opcode::constant) return;
  source_line(op);
  switch (op.code) {
    case Opcode::builtin:
      line(fmt::format("let v{} = {};", v, builtin(v)));
      return;
    case Opcode::scalar: {
      const std::string word = wgsl_info(info_parameters + static_cast<std::uint32_t>(op.attr));
      std::string value = word;
      if (op.type.elem == Elem::boolean) value = fmt::format("({} != 0u)", word);
      if (op.type.elem == Elem::f32 || op.type.elem == Elem::i32) {
        value = fmt::format("bitcast<{}>({})", wgsl_type(op.type), word);
      }
      if (op.type.elem == Elem::f16) value = fmt::format("bitcast<vec2<f16>>({}).x", word);
      line(fmt::format("let v{} = {};", v, value));
      return;
    }
    case Opcode::length:
      line(fmt::format(
          "let v{} = {};", v,
          wgsl_info(info_parameters + layout_.lengths + static_cast<std::uint32_t>(op.attr))));
      return;
    case Opcode::shape:
    case Opcode::stride: {
      const auto& table = op.code == Opcode::shape ? layout_.shapes : layout_.strides;
      const auto word =
          table[static_cast<std::uint32_t>(op.attr)] + static_cast<std::uint32_t>(op.attr >> 32);
      line(fmt::format("let v{} = {};", v, wgsl_info(info_parameters + word)));
      return;
    }
    case Opcode::slot:
      line(fmt::format("var v{}: {};", v, wgsl_type(op.type)));
      return;
    case Opcode::slot_load:
      line(fmt::format("let v{} = {};", v, name(k_.arg(v, 0))));
      return;
    case Opcode::slot_store:
      line(fmt::format("{} = {};", name(k_.arg(v, 0)), name(k_.arg(v, 1))));
      return;
    case Opcode::load:
    case Opcode::load_or:
    case Opcode::store:
    case Opcode::uniform_load:
      memory(v);
      return;
    case Opcode::sync_cube:
      line("workgroupBarrier(); storageBarrier();");
      return;
    case Opcode::if_:
      line(fmt::format("if ({}) {{", name(k_.arg(v, 0))));
      ++depth_;
      region(op.region_begin);
      --depth_;
      if (!k_.regions[op.region_begin + 1].ops.empty()) {
        line("} else {");
        ++depth_;
        region(op.region_begin + 1);
        --depth_;
      }
      line("}");
      return;
    case Opcode::for_:
      for_loop(v);
      return;
    case Opcode::loop:
      loop(v);
      return;
    case Opcode::break_unless:
      line(fmt::format("if (!{}) {{ break; }}", name(k_.arg(v, 0))));
      return;
    case Opcode::break_:
      line("break;");
      return;
    case Opcode::return_:
      line("return;");
      return;
    case Opcode::check:
      check(v);
      return;
    default:
      break;
  }
  if (ir::info(op.code).has(ir::trait_atomic)) return atomic(v);
  std::vector<std::string> args = names(v);
  // Of constants alone the shader compiler would compute the result itself and refuse overflow.
  const auto operands = k_.args(v);
  const bool all_constant =
      !operands.empty() && std::all_of(operands.begin(), operands.end(),
                                       [&](Value a) { return k_.op(a).code == Opcode::constant; });
  const Elem e = all_constant ? k_.op(operands[0]).type.elem : Elem::none;
  if (e == Elem::u32 || e == Elem::index) args[0] = fmt::format("({} + {})", args[0], wgsl_info(6));
  if (e == Elem::i32) args[0] = fmt::format("({} + bitcast<i32>({}))", args[0], wgsl_info(6));
  if (e == Elem::f32) {
    args[0] = fmt::format("bitcast<f32>({:#x}u + {})",
                          static_cast<std::uint32_t>(k_.op(operands[0]).attr), wgsl_info(6));
  }
  line(fmt::format("let v{} = {};", v, wgsl_expression(k_, v, args, helpers_)));
}

std::string Statements::builtin(Value v) const {
  using detail::Builtin;
  const auto& u = k_.units;
  const auto axis = [&](int a) { return "xyz"[a]; };
  const auto b = static_cast<Builtin>(k_.op(v).attr);
  const int which = static_cast<int>(b) % 4;
  const auto absolute = [&](int a) {
    return fmt::format("(tess_cube.{0} * {1}u + tess_unit.{0})", axis(a),
                       u[static_cast<std::size_t>(a)]);
  };
  switch (static_cast<int>(b) / 4) {
    case 0:
      return which == 3 ? "tess_unit_index" : fmt::format("tess_unit.{}", axis(which));
    case 1:
      return which == 3
                 ? "(tess_cube.x + tess_count.x * (tess_cube.y + tess_count.y * tess_cube.z))"
                 : fmt::format("tess_cube.{}", axis(which));
    case 2:
      return which == 3 ? fmt::format("{}u", k_.unit_count())
                        : fmt::format("{}u", u[static_cast<std::size_t>(which)]);
    case 3:
      return which == 3 ? "(tess_count.x * tess_count.y * tess_count.z)"
                        : fmt::format("tess_count.{}", axis(which));
    default:
      if (which != 3) return absolute(which);
      return fmt::format("({} + tess_count.x * {}u * ({} + tess_count.y * {}u * {}))", absolute(0),
                         u[0], absolute(1), u[1], absolute(2));
  }
}

void Statements::memory(Value v) {
  const Op& op = k_.op(v);
  const int coordinates = ir::coordinate_count(k_, op);
  const std::string type = wgsl_type(op.type);
  switch (op.code) {
    case Opcode::store: {
      const std::string assign = fmt::format("{} = {};", element(v), name(k_.arg(v, coordinates)));
      if (!checked(op)) return line(assign);
      return line(
          fmt::format("if ({}) {{ {} }} else {{ {} }}", in_range(v), assign, fault_call(v)));
    }
    case Opcode::load_or:
      line(fmt::format("var v{}: {} = {};", v, type, name(k_.arg(v, coordinates))));
      return line(fmt::format("if ({}) {{ v{} = {}; }}", in_range(v), v, element(v)));
    default: {
      const std::string value = op.code == Opcode::uniform_load
                                    ? fmt::format("workgroupUniformLoad(&{})", element(v))
                                    : element(v);
      if (!checked(op)) return line(fmt::format("let v{} = {};", v, value));
      line(fmt::format("var v{}: {} = {};", v, type, wgsl_zero(op.type)));
      return line(fmt::format("if ({}) {{ v{} = {}; }} else {{ {} }}", in_range(v), v, value,
                              fault_call(v)));
    }
  }
}

void Statements::atomic(Value v) {
  const Op& op = k_.op(v);
  const int coordinates = ir::coordinate_count(k_, op);
  const std::string at = "&" + element(v);
  const auto value = [&](int i) { return name(k_.arg(v, coordinates + i)); };
  std::string action;
  switch (op.code) {
    case Opcode::atomic_load:
      action = fmt::format("v{} = atomicLoad({});", v, at);
      break;
    case Opcode::atomic_store:
      action = fmt::format("atomicStore({}, {});", at, value(0));
      break;
    case Opcode::atomic_cas:
      // The weak exchange may fail for no reason; ours does not.
      action = fmt::format(
          "loop {{ let r = atomicCompareExchangeWeak({0}, {1}, {2}); v{3} = r.old_value; if "
          "(r.exchanged || r.old_value != {1}) {{ break; }} }}",
          at, value(0), value(1), v);
      break;
    default: {
      const char* call = op.code == Opcode::atomic_exchange ? "atomicExchange"
                         : op.code == Opcode::atomic_add    ? "atomicAdd"
                         : op.code == Opcode::atomic_sub    ? "atomicSub"
                         : op.code == Opcode::atomic_min    ? "atomicMin"
                         : op.code == Opcode::atomic_max    ? "atomicMax"
                         : op.code == Opcode::atomic_and    ? "atomicAnd"
                         : op.code == Opcode::atomic_or     ? "atomicOr"
                                                            : "atomicXor";
      action = fmt::format("v{} = {}({}, {});", v, call, at, value(0));
    }
  }
  if (op.type.lanes > 0) {
    line(fmt::format("var v{}: {} = {};", v, wgsl_type(op.type), wgsl_zero(op.type)));
  }
  if (!checked(op)) return line(action);
  line(fmt::format("if ({}) {{ {} }} else {{ {} }}", in_range(v), action, fault_call(v)));
}

// The number of rounds is fixed at entry and the counter never wraps: a round goes on only where
// more than one step is left.
void Statements::for_loop(Value v) {
  const Op& op = k_.op(v);
  const std::string begin = name(k_.arg(v, 0)), end = name(k_.arg(v, 1));
  const Op& step_op = k_.op(k_.arg(v, 2));
  const std::string type = wgsl_type(op.type);
  const bool constant = step_op.code == Opcode::constant;
  const bool down = constant && op.type.elem == Elem::i32 && (step_op.attr & 0x80000000u) != 0;
  const std::string step = name(k_.arg(v, 2));
  if (constant && step_op.attr == 1) {
    line(fmt::format("for (var v{0}: {1} = {2}; v{0} < {3}; v{0} = v{0} + 1{4}) {{", v, type, begin,
                     end, op.type.elem == Elem::i32 ? "i" : "u"));
    ++depth_;
    region(op.region_begin);
    --depth_;
    return line("}");
  }
  const auto bits = [&](const std::string& x) {
    return op.type.elem == Elem::i32 ? fmt::format("bitcast<u32>({})", x) : x;
  };
  std::string enter = fmt::format("{} {} {}", begin, down ? ">" : "<", end);
  if (!constant) enter += fmt::format(" && {} > {}", step, wgsl_zero(op.type));
  line(fmt::format("if ({}) {{", enter));
  ++depth_;
  line(fmt::format("var v{}: {} = {};", v, type, begin));
  line("loop {");
  ++depth_;
  region(op.region_begin);
  const std::string counter = fmt::format("v{}", v);
  const std::string left = down ? fmt::format("{} - {}", bits(counter), bits(end))
                                : fmt::format("{} - {}", bits(end), bits(counter));
  const std::string size =
      down ? fmt::format("{}u", 0u - static_cast<std::uint32_t>(step_op.attr)) : bits(step);
  line(fmt::format("continuing {{ let tess_left = {}; v{} = v{} + {}; break if tess_left <= {}; }}",
                   left, v, v, step, size));
  --depth_;
  line("}");
  --depth_;
  line("}");
}

void Statements::loop(Value v) {
  const Op& op = k_.op(v);
  line("loop {");
  ++depth_;
  region(op.region_begin);
  const auto& ops = k_.regions[op.region_begin].ops;
  const Opcode last = ops.empty() ? Opcode::constant : k_.op(ops.back()).code;
  if (can_fault_ && last != Opcode::break_ && last != Opcode::return_) {
    // A unit that has faulted computes with zeros: it must not go round for ever.
    if (has_barrier(op.region_begin)) {
      together_ = true;
      line("if (workgroupUniformLoad(&tess_cube_faulted) != 0u) { break; }");
    } else {
      line("if (tess_faulted) { break; }");
    }
  }
  --depth_;
  line("}");
}

void Statements::check(Value v) {
  const Op& op = k_.op(v);
  const auto& u = k_.units;
  line(
      fmt::format("if (!{}) {{ tess_fault({}u, (tess_cube.x * {}u + tess_unit.x) + tess_count.x * "
                  "{}u * ((tess_cube.y * {}u + tess_unit.y) + tess_count.y * {}u * (tess_cube.z * "
                  "{}u + tess_unit.z)), 0u); }}",
                  name(k_.arg(v, 0)), op.site, u[0], u[0], u[1], u[1], u[2]));
}

}  // namespace tessera::emit
