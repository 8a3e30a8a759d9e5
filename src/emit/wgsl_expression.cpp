// SPDX-License-Identifier: MIT OR Apache-2.0
#include "emit/wgsl_expression.hpp"

#include <fmt/format.h>

#include "emit/wgsl_names.hpp"
#include "ir/op_info.hpp"

namespace tessera::emit {
namespace {

using ir::Op;
using ir::Opcode;
using Args = std::vector<std::string>;

bool is_i32(Elem e) {
  return e == Elem::i32;
}
bool is_u32(Elem e) {
  return e == Elem::u32 || e == Elem::index;
}

std::string infix(const Args& a, std::string_view op) {
  return fmt::format("({} {} {})", a[0], op, a[1]);
}

std::string call(std::string_view name, const Args& a) {
  std::string out = fmt::format("{}(", name);
  for (std::size_t i = 0; i < a.size(); ++i) out += (i > 0 ? ", " : "") + a[i];
  return out + ")";
}

std::string scalar_cast(Elem from, Elem to, const std::string& x, Helpers& helpers) {
  if (to == Elem::boolean) return fmt::format("(!({} == {}))", x, wgsl_zero({from, 1}));
  if (is_float(from) && !is_float(to)) {
    const std::string wide = from == Elem::f16 ? fmt::format("f32({})", x) : x;
    return call(helpers.use(is_i32(to) ? "tess_f32_to_i32" : "tess_f32_to_u32"), {wide});
  }
  if (is_u32(from) && to == Elem::f32) return call(helpers.use("tess_u32_to_f32"), {x});
  return fmt::format("{}({})", wgsl_type({to, 1}), x);
}

// f16 goes through the f32 helpers: every f16 is an f32, and their results are one of the operands.
std::string float_choice(std::string_view helper, Elem e, const Args& a, Helpers& helpers) {
  if (e == Elem::f32) return call(helpers.use(helper), a);
  Args wide;
  for (const std::string& x : a) wide.push_back(fmt::format("f32({})", x));
  return fmt::format("f16({})", call(helpers.use(helper), wide));
}

// Operations on scalars whose WGSL spelling is not the same for every lane count.
std::string scalar(const Op& op, Elem from, const Args& a, Helpers& helpers) {
  const Elem e = from;
  const std::string_view suffix = is_i32(e) ? "i32" : is_u32(e) ? "u32" : "f32";
  const auto helper = [&](std::string_view base) {
    return call(helpers.use(fmt::format("tess_{}_{}", base, suffix)), a);
  };
  switch (op.code) {
    case Opcode::div:
      return helper("div");
    case Opcode::rem:
      return is_float(e) ? float_choice("tess_rem_f32", e, a, helpers) : helper("rem");
    case Opcode::mod:
      if (is_float(e)) return float_choice("tess_mod_f32", e, a, helpers);
      return is_u32(e) ? call(helpers.use("tess_rem_u32"), a) : helper("mod");
    case Opcode::min:
      return float_choice("tess_min_f32", e, a, helpers);
    case Opcode::max:
      return float_choice("tess_max_f32", e, a, helpers);
    case Opcode::clamp:
      return float_choice("tess_min_f32", e,
                          {float_choice("tess_max_f32", e, {a[0], a[1]}, helpers), a[2]}, helpers);
    case Opcode::mul_hi:
      return helper("mul_hi");
    case Opcode::pow:
      return float_choice("tess_pow_f32", e, a, helpers);
    case Opcode::is_nan:
    case Opcode::is_inf:
      return call(helpers.use(op.code == Opcode::is_nan ? "tess_is_nan" : "tess_is_inf"),
                  {e == Elem::f16 ? fmt::format("f32({})", a[0]) : a[0]});
    case Opcode::cast:
      return scalar_cast(e, op.type.elem, a[0], helpers);
    default:
      return "";
  }
}

bool lane_by_lane(const Op& op, Elem from) {
  switch (op.code) {
    case Opcode::div:
    case Opcode::rem:
    case Opcode::mod:
      return is_int(from) || op.code != Opcode::div;
    case Opcode::min:
    case Opcode::max:
    case Opcode::clamp:
      return is_float(from);
    case Opcode::mul_hi:
    case Opcode::pow:
    case Opcode::is_nan:
    case Opcode::is_inf:
    case Opcode::cast:
      return true;
    default:
      return false;
  }
}

std::string shift_amount(const Op& op, Elem from, const std::string& amount) {
  const std::string lanes31 =
      op.type.lanes > 1 ? fmt::format("vec{}<u32>(31u)", op.type.lanes) : "31u";
  const std::string as_u32 =
      is_i32(from) ? fmt::format("{}({})", wgsl_type({Elem::u32, op.type.lanes}), amount) : amount;
  return fmt::format("({} & {})", as_u32, lanes31);
}

}  // namespace

std::string wgsl_expression(const ir::Kernel& k, ir::Value v, const Args& a, Helpers& helpers) {
  const Op& op = k.op(v);
  const Elem from = op.operand_count > 0 ? k.op(k.arg(v, 0)).type.elem : op.type.elem;
  if (lane_by_lane(op, from)) {
    if (op.type.lanes == 1) return scalar(op, from, a, helpers);
    std::string out = wgsl_type(op.type) + "(";
    for (int lane = 0; lane < op.type.lanes; ++lane) {
      Args of_lane;
      for (const std::string& x : a) of_lane.push_back(fmt::format("{}.{}", x, "xyzw"[lane]));
      out += (lane > 0 ? ", " : "") + scalar(op, from, of_lane, helpers);
    }
    return out + ")";
  }
  const bool flag = from == Elem::boolean;
  switch (op.code) {
    case Opcode::add:
      return infix(a, "+");
    case Opcode::sub:
      return infix(a, "-");
    case Opcode::mul:
      return infix(a, "*");
    case Opcode::div:
      return infix(a, "/");
    case Opcode::neg:
      return is_u32(from) ? fmt::format("({} - {})", wgsl_zero(op.type), a[0])
                          : fmt::format("(-{})", a[0]);
    case Opcode::abs:
      return is_u32(from) ? a[0] : call("abs", a);
    case Opcode::min:
      return call("min", a);
    case Opcode::max:
      return call("max", a);
    case Opcode::clamp:
      return fmt::format("min(max({}, {}), {})", a[0], a[1], a[2]);
    case Opcode::fma:
      return call("fma", a);
    case Opcode::bit_and:
      return infix(a, "&");
    case Opcode::bit_or:
      return infix(a, "|");
    case Opcode::bit_xor:
      return flag ? infix(a, "!=") : infix(a, "^");
    case Opcode::bit_not:
      return (flag ? "(!" : "(~") + a[0] + ")";
    case Opcode::shl:
      return fmt::format("({} << {})", a[0], shift_amount(op, from, a[1]));
    case Opcode::shr:
      return fmt::format("({} >> {})", a[0], shift_amount(op, from, a[1]));
    case Opcode::count_ones:
      return call("countOneBits", a);
    case Opcode::leading_zeros:
      return call("countLeadingZeros", a);
    case Opcode::trailing_zeros:
      return call("countTrailingZeros", a);
    case Opcode::reverse_bits:
      return call("reverseBits", a);
    case Opcode::eq:
      return infix(a, "==");
    case Opcode::ne:
      // WGSL compilers make "not equal" of floats false for NaN.
      return is_float(from) ? "(!" + infix(a, "==") + ")" : infix(a, "!=");
    case Opcode::lt:
      return infix(a, "<");
    case Opcode::le:
      return infix(a, "<=");
    case Opcode::gt:
      return infix(a, ">");
    case Opcode::ge:
      return infix(a, ">=");
    case Opcode::inverse_sqrt:
      return call("inverseSqrt", a);
    case Opcode::select:
      return fmt::format("select({}, {}, {})", a[2], a[1], a[0]);
    case Opcode::bitcast:
      return fmt::format("bitcast<{}>({})", wgsl_type(op.type), a[0]);
    case Opcode::splat:
    case Opcode::compose:
      return call(wgsl_type(op.type), a);
    case Opcode::extract:
      return fmt::format("{}.{}", a[0], "xyzw"[op.attr]);
    case Opcode::insert: {
      std::string out = wgsl_type(op.type) + "(";
      for (int lane = 0; lane < op.type.lanes; ++lane) {
        if (lane > 0) out += ", ";
        out += static_cast<std::uint64_t>(lane) == op.attr
                   ? a[1]
                   : fmt::format("{}.{}", a[0], "xyzw"[lane]);
      }
      return out + ")";
    }
    // floor, ceil, trunc, round, sqrt, exp, exp2, log, log2, sin, cos, tanh
    default:
      return call(ir::info(op.code).name, a);
  }
}

}  // namespace tessera::emit
