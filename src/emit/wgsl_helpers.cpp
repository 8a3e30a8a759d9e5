// SPDX-License-Identifier: MIT OR Apache-2.0
#include "emit/wgsl_helpers.hpp"

#include <array>

namespace tessera::emit {
namespace {

struct Helper {
  std::string_view name;
  std::string_view needs;  // one other helper, or empty
  std::string_view text;
};

// In order of definition. NaN is told by its bits: compilers may assume that floats are never NaN.
constexpr std::array helpers = {
    Helper{"tess_is_nan", "",
           "fn tess_is_nan(x: f32) -> bool {\n"
           "  return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;\n}\n"},
    Helper{"tess_is_inf", "",
           "fn tess_is_inf(x: f32) -> bool {\n"
           "  return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u;\n}\n"},
    // Equal numbers have equal bits but for the zeros, of which min takes -0 and max takes +0.
    Helper{"tess_min_f32", "tess_is_nan",
           "fn tess_min_f32(a: f32, b: f32) -> f32 {\n"
           "  if (tess_is_nan(a)) { return a; }\n"
           "  if (tess_is_nan(b)) { return b; }\n"
           "  if (a < b) { return a; }\n"
           "  if (b < a) { return b; }\n"
           "  return bitcast<f32>(bitcast<u32>(a) | bitcast<u32>(b));\n}\n"},
    Helper{"tess_max_f32", "tess_is_nan",
           "fn tess_max_f32(a: f32, b: f32) -> f32 {\n"
           "  if (tess_is_nan(a)) { return a; }\n"
           "  if (tess_is_nan(b)) { return b; }\n"
           "  if (a > b) { return a; }\n"
           "  if (b > a) { return b; }\n"
           "  return bitcast<f32>(bitcast<u32>(a) & bitcast<u32>(b));\n}\n"},
    Helper{"tess_div_i32", "",
           "fn tess_div_i32(a: i32, b: i32) -> i32 {\n"
           "  if (b == 0) { return a; }\n"
           "  if (b == -1) { return -a; }\n"
           "  return a / b;\n}\n"},
    Helper{"tess_div_u32", "",
           "fn tess_div_u32(a: u32, b: u32) -> u32 {\n"
           "  if (b == 0u) { return a; }\n"
           "  return a / b;\n}\n"},
    // Not the remainder operator: some devices get it wrong for negative operands.
    Helper{"tess_rem_i32", "tess_div_i32",
           "fn tess_rem_i32(a: i32, b: i32) -> i32 {\n"
           "  if (b == 0) { return 0; }\n"
           "  return a - tess_div_i32(a, b) * b;\n}\n"},
    Helper{"tess_rem_u32", "",
           "fn tess_rem_u32(a: u32, b: u32) -> u32 {\n"
           "  if (b == 0u) { return 0u; }\n"
           "  return a - (a / b) * b;\n}\n"},
    Helper{"tess_mod_i32", "tess_rem_i32",
           "fn tess_mod_i32(a: i32, b: i32) -> i32 {\n"
           "  let r = tess_rem_i32(a, b);\n"
           "  if (r != 0 && (r ^ b) < 0) { return r + b; }\n"
           "  return r;\n}\n"},
    Helper{"tess_rem_f32", "",
           "fn tess_rem_f32(a: f32, b: f32) -> f32 {\n"
           "  return a - b * trunc(a / b);\n}\n"},
    Helper{"tess_mod_f32", "",
           "fn tess_mod_f32(a: f32, b: f32) -> f32 {\n"
           "  return a - b * floor(a / b);\n}\n"},
    // WGSL's own conversion stops at the largest float below the limit.
    Helper{"tess_f32_to_i32", "tess_is_nan",
           "fn tess_f32_to_i32(x: f32) -> i32 {\n"
           "  if (tess_is_nan(x)) { return 0; }\n"
           "  if (x >= 2147483648.0f) { return 2147483647; }\n"
           "  if (x <= -2147483648.0f) { return i32(-2147483647 - 1); }\n"
           "  return i32(x);\n}\n"},
    Helper{"tess_f32_to_u32", "tess_is_nan",
           "fn tess_f32_to_u32(x: f32) -> u32 {\n"
           "  if (tess_is_nan(x) || x <= 0.0f) { return 0u; }\n"
           "  if (x >= 4294967296.0f) { return 4294967295u; }\n"
           "  return u32(x);\n}\n"},
    // To nearest even in whole numbers: some devices round large ones twice.
    Helper{"tess_u32_to_f32", "",
           "fn tess_u32_to_f32(x: u32) -> f32 {\n"
           "  if (x < 16777216u) { return f32(i32(x)); }\n"
           "  let n = 8u - countLeadingZeros(x);\n"
           "  let low = x & ((1u << n) - 1u);\n"
           "  let half = 1u << (n - 1u);\n"
           "  var q = x >> n;\n"
           "  if (low > half || (low == half && (q & 1u) == 1u)) { q += 1u; }\n"
           "  return f32(i32(q)) * f32(i32(1u << n));\n}\n"},
    Helper{"tess_mul_hi_u32", "",
           "fn tess_mul_hi_u32(a: u32, b: u32) -> u32 {\n"
           "  let al = a & 0xffffu;\n  let ah = a >> 16u;\n"
           "  let bl = b & 0xffffu;\n  let bh = b >> 16u;\n"
           "  let mid = ah * bl + ((al * bl) >> 16u);\n"
           "  let low = (mid & 0xffffu) + al * bh;\n"
           "  return ah * bh + (mid >> 16u) + (low >> 16u);\n}\n"},
    Helper{"tess_mul_hi_i32", "tess_mul_hi_u32",
           "fn tess_mul_hi_i32(a: i32, b: i32) -> i32 {\n"
           "  var high = tess_mul_hi_u32(bitcast<u32>(a), bitcast<u32>(b));\n"
           "  if (a < 0) { high -= bitcast<u32>(b); }\n"
           "  if (b < 0) { high -= bitcast<u32>(a); }\n"
           "  return bitcast<i32>(high);\n}\n"},
    Helper{"tess_pow_f32", "",
           "fn tess_pow_f32(x: f32, y: f32) -> f32 {\n"
           "  if (y == 0.0f) { return 1.0f; }\n"
           "  if (x >= 0.0f) { return pow(x, y); }\n"
           "  if (y != trunc(y)) { return bitcast<f32>(0x7fc00000u + tess.words[1].z); }\n"
           "  let r = pow(-x, y);\n"
           "  if (abs(y - 2.0f * trunc(y * 0.5f)) == 1.0f) { return -r; }\n"
           "  return r;\n}\n"},
};

}  // namespace

std::string_view Helpers::use(std::string_view name) {
  for (const Helper& h : helpers) {
    if (h.name != name) continue;
    if (used_.insert(std::string(name)).second && !h.needs.empty()) use(h.needs);
    return h.name;
  }
  return name;
}

std::string Helpers::text() const {
  std::string out;
  for (const Helper& h : helpers) {
    if (used_.count(h.name) != 0) out += h.text;
  }
  return out;
}

}  // namespace tessera::emit
