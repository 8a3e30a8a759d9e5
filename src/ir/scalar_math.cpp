// SPDX-License-Identifier: MIT OR Apache-2.0
#include "ir/scalar_math.hpp"

#include <cassert>

#include "ir/scalar_math_lanes.hpp"

namespace tessera::ir {
namespace {

void select(std::uint64_t* __restrict__ out, const std::uint64_t* a, const std::uint64_t* b,
            const std::uint64_t* c, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = (a[i] & 1) != 0 ? b[i] : c[i];
}

void same_bits(std::uint64_t* __restrict__ out, const std::uint64_t* a, const std::uint64_t*,
               const std::uint64_t*, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = a[i];
}

}  // namespace

LaneFunction lane_function(Opcode code, Elem operand, Elem result, bool wide_index) noexcept {
  switch (code) {
    case Opcode::select:
      return &select;
    case Opcode::bitcast: {
      const int width = bit_width(operand, wide_index);
      return width > 1 && width == bit_width(result, wide_index) ? &same_bits : nullptr;
    }
    case Opcode::cast:
      return math::cast_function(operand, result, wide_index);
    default:
      break;
  }
  if (is_float(operand)) return math::float_function(code, operand);
  return math::int_function(code, operand, wide_index);
}

std::uint64_t eval_scalar(Opcode code, Elem operand, Elem result,
                          std::span<const std::uint64_t> args, bool wide_index) noexcept {
  const LaneFunction function = lane_function(code, operand, result, wide_index);
  assert(function != nullptr && !args.empty() && args.size() <= 3);
  if (function == nullptr) return 0;
  // What the operation does not take is never read; a zero keeps the pointers valid.
  static constexpr std::uint64_t nothing = 0;
  const std::uint64_t* a = !args.empty() ? &args[0] : &nothing;
  const std::uint64_t* b = args.size() > 1 ? &args[1] : &nothing;
  const std::uint64_t* c = args.size() > 2 ? &args[2] : &nothing;
  std::uint64_t out = 0;
  function(&out, a, b, c, 1);
  return out;
}

int bit_width(Elem elem, bool wide_index) noexcept {
  switch (elem) {
    case Elem::none:
      return 0;
    case Elem::boolean:
      return 1;
    case Elem::index:
      return wide_index ? 64 : 32;
    default:
      return static_cast<int>(size_of(elem)) * 8;
  }
}

std::uint64_t normalise(Elem elem, std::uint64_t bits, bool wide_index) noexcept {
  if (elem == Elem::boolean) return bits != 0 ? 1 : 0;
  const int width = bit_width(elem, wide_index);
  return width >= 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
}

std::int64_t widen(Elem elem, std::uint64_t bits) noexcept {
  switch (elem) {
    case Elem::i8:
      return static_cast<std::int8_t>(bits);
    case Elem::i16:
      return static_cast<std::int16_t>(bits);
    case Elem::i32:
      return static_cast<std::int32_t>(bits);
    default:
      return static_cast<std::int64_t>(bits);
  }
}

}  // namespace tessera::ir
