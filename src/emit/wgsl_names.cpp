// SPDX-License-Identifier: MIT OR Apache-2.0
#include "emit/wgsl_names.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "emit/info_layout.hpp"

namespace tessera::emit {
namespace {

std::string_view scalar_name(Elem elem) {
  switch (elem) {
    case Elem::boolean:
      return "bool";
    case Elem::i32:
      return "i32";
    case Elem::f16:
      return "f16";
    case Elem::f32:
      return "f32";
    default:
      return "u32";  // u32 and index
  }
}

std::string f32_literal(std::uint32_t bits) {
  const float value = std::bit_cast<float>(bits);
  if (!std::isfinite(value)) {
    return fmt::format("bitcast<f32>({:#x}u + {})", bits, wgsl_info(6));
  }
  // Shader compilers may flush a subnormal literal, and read -0.0 as a negated zero.
  if (bits == 0x80000000u || (value != 0 && std::fabs(value) < 1.17549435e-38f)) {
    return fmt::format("bitcast<f32>({:#x}u)", bits);
  }
  return value < 0 ? fmt::format("({}f)", value) : fmt::format("{}f", value);
}

}  // namespace

std::string wgsl_type(ir::Type type) {
  return type.lanes > 1 ? fmt::format("vec{}<{}>", type.lanes, scalar_name(type.elem))
                        : std::string(scalar_name(type.elem));
}

std::string wgsl_zero(ir::Type type) {
  return wgsl_type(type) + "()";
}

std::string wgsl_literal(Elem elem, std::uint64_t bits) {
  const auto low = static_cast<std::uint32_t>(bits);
  switch (elem) {
    case Elem::boolean:
      return low != 0 ? "true" : "false";
    case Elem::i32:
      // The most negative number cannot be written as the negation of a positive one.
      if (low == 0x80000000u) return "i32(-2147483647 - 1)";
      return static_cast<std::int32_t>(low) < 0
                 ? fmt::format("({}i)", static_cast<std::int32_t>(low))
                 : fmt::format("{}i", low);
    case Elem::f16: {
      const float value = static_cast<float>(f16::from_bits(static_cast<std::uint16_t>(bits)));
      if (!std::isfinite(value))
        return fmt::format("f16({})", f32_literal(std::bit_cast<std::uint32_t>(value)));
      return std::signbit(value) ? fmt::format("({}h)", value) : fmt::format("{}h", value);
    }
    case Elem::f32:
      return f32_literal(low);
    default:
      return fmt::format("{}u", low);
  }
}

std::string wgsl_info(std::uint32_t word) {
  return fmt::format("tess.words[{}].{}", word / 4, "xyzw"[word % 4]);
}

std::string wgsl_lacks(Elem elem, bool has_f16) {
  switch (elem) {
    case Elem::none:
    case Elem::boolean:
    case Elem::i32:
    case Elem::u32:
    case Elem::index:
    case Elem::f32:
      return "";
    case Elem::f16:
      return has_f16 ? "" : "f16";
    default:
      return std::string(to_string(elem));
  }
}

}  // namespace tessera::emit
