// SPDX-License-Identifier: MIT OR Apache-2.0
#include "lang/trace.hpp"

#include <fmt/format.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <exception>
#include <limits>

#include "lang/trace_state.hpp"

namespace tessera::lang {
namespace {

thread_local TraceState* current = nullptr;
std::atomic<std::uint32_t> next_serial{1};

void call(TraceState& state, void (*body)(void*), void* context) {
#if defined(__cpp_exceptions)
  try {
    body(context);
  } catch (const std::exception& e) {
    state.fail(
        fmt::format("The kernel function threw an exception while it was traced: {}", e.what()),
        {});
  } catch (...) {
    state.fail("The kernel function threw something while it was traced", {});
  }
#else
  (void)state;
  body(context);
#endif
}

}  // namespace

Result<ir::Kernel> trace(TraceInput input, void (*body)(void*), void* context) {
  TraceState state(std::move(input), next_serial.fetch_add(1, std::memory_order_relaxed));
  TraceState* const outer = current;
  current = &state;
  call(state, body, context);
  current = outer;
  return state.finish();
}

}  // namespace tessera::lang

namespace tessera::inline v0::detail {

using lang::current;

bool tracing() noexcept {
  return current != nullptr;
}

std::uint32_t trace_serial() noexcept {
  return current != nullptr ? current->serial() : 0;
}

std::uint32_t cube_dim_of(int axis) noexcept {
  return current != nullptr ? current->kernel().units[static_cast<std::size_t>(axis)] : 1;
}

void trace_error(std::string_view message, SourceLoc where) noexcept {
  if (current == nullptr) return;
  std::string text(message);
  // Messages of the headers start small; a sentence does not.
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  current->fail(std::move(text), where);
}

ValueRef emit(Opcode code, ElemType type, std::span<const ValueRef> operands, std::uint64_t attr,
              SourceLoc where) noexcept {
  return current != nullptr ? current->emit(code, type, operands, attr, where) : ValueRef{};
}

ValueRef constant(Elem elem, std::uint64_t bits, SourceLoc where) noexcept {
  return current != nullptr ? current->constant(elem, bits, where) : ValueRef{};
}

ValueRef open_if(ValueRef condition, SourceLoc where) noexcept {
  const ValueRef operands[] = {condition};
  return current != nullptr ? current->open(Opcode::if_, {}, operands, 2, where) : ValueRef{};
}

ValueRef reopen_else(bool chained, SourceLoc where) noexcept {
  return current != nullptr ? current->reopen_else(chained, where) : ValueRef{};
}

ValueRef open_for(ValueRef begin, ValueRef end, ValueRef step, SourceLoc where) noexcept {
  if (current == nullptr) return {};
  const ValueRef operands[] = {begin, end, step};
  const bool known = begin.trace == current->serial() && begin.id < current->kernel().ops.size();
  const ElemType type = known ? current->kernel().ops[begin.id].type : ElemType{Elem::index, 1};
  return current->open(Opcode::for_, type, operands, 1, where);
}

ValueRef open_loop(SourceLoc where) noexcept {
  return current != nullptr ? current->open(Opcode::loop, {}, {}, 1, where) : ValueRef{};
}

void close_region(SourceLoc where) noexcept {
  if (current != nullptr) current->close(where);
}

MemoryRef declare_shared(ElemType type, std::uint64_t count, bool atomic,
                         SourceLoc where) noexcept {
  return current != nullptr ? current->declare_shared(type, count, atomic, where) : MemoryRef{};
}

void emit_check(ValueRef condition, std::string_view message, SourceLoc where) noexcept {
  if (current != nullptr) current->check(condition, message, where);
}

namespace {

std::uint64_t mask(Elem elem) {
  const std::size_t bytes = size_of(elem);
  return bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * bytes)) - 1;
}

struct Limits {
  std::int64_t low;
  std::uint64_t high;
};
Limits limits(Elem elem) {
  switch (elem) {
    case Elem::boolean:
      return {0, 1};
    case Elem::i8:
      return {-128, 127};
    case Elem::i16:
      return {-32768, 32767};
    case Elem::i32:
      return {std::numeric_limits<std::int32_t>::min(), 0x7fffffff};
    case Elem::i64:
      return {std::numeric_limits<std::int64_t>::min(), 0x7fffffffffffffff};
    case Elem::u8:
      return {0, 0xff};
    case Elem::u16:
      return {0, 0xffff};
    // An index constant must mean the same at both widths of Index.
    case Elem::u32:
    case Elem::index:
      return {0, 0xffffffff};
    default:
      return {0, ~std::uint64_t{0}};
  }
}

// To binary32 with the lost bits kept as a sticky last bit: rounding that once more to half as many
// bits gives what rounding the number itself would.
float round_to_odd(long double value) {
  const auto nearest = static_cast<float>(value);
  if (!std::isfinite(nearest) || static_cast<long double>(nearest) == value) return nearest;
  const bool away = std::fabs(static_cast<long double>(nearest)) > std::fabs(value);
  const float toward = away ? std::nextafter(nearest, 0.0f) : nearest;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(toward) | 1u);
}

template <class N>
ValueRef cannot_hold(Elem elem, N value, SourceLoc where);

// Every number but NaN and the infinities stays finite, or is refused.
ValueRef float_literal(Elem elem, long double value, SourceLoc where) {
  std::uint64_t bits = 0;
  bool finite = true;
  switch (elem) {
    case Elem::f64: {
      const auto rounded = static_cast<double>(value);
      finite = std::isfinite(rounded);
      bits = std::bit_cast<std::uint64_t>(rounded);
      break;
    }
    case Elem::f16: {
      const f16 rounded(round_to_odd(value));
      finite = std::isfinite(static_cast<float>(rounded));
      bits = rounded.bits();
      break;
    }
    case Elem::bf16: {
      const bf16 rounded(round_to_odd(value));
      finite = std::isfinite(static_cast<float>(rounded));
      bits = rounded.bits();
      break;
    }
    default: {
      const auto rounded = static_cast<float>(value);
      finite = std::isfinite(rounded);
      bits = std::bit_cast<std::uint32_t>(rounded);
    }
  }
  if (!finite && std::isfinite(value)) return cannot_hold(elem, value, where);
  return constant(elem, bits, where);
}

template <class N>
ValueRef cannot_hold(Elem elem, N value, SourceLoc where) {
  trace_error(fmt::format("{} cannot be a number of type {}", value, to_string(elem)), where);
  return {};
}

}  // namespace

ValueRef literal(Elem elem, double value, SourceLoc where) noexcept {
  if (is_float(elem)) return float_literal(elem, value, where);
  const Limits l = limits(elem);
  const bool fits = std::trunc(value) == value && value >= static_cast<double>(l.low) &&
                    value <= static_cast<double>(l.high) && value < 18446744073709551616.0;
  if (!fits) return cannot_hold(elem, value, where);
  return value < 0 ? literal(elem, static_cast<std::int64_t>(value), where)
                   : literal(elem, static_cast<std::uint64_t>(value), where);
}

ValueRef literal(Elem elem, std::int64_t value, SourceLoc where) noexcept {
  if (value >= 0) return literal(elem, static_cast<std::uint64_t>(value), where);
  if (is_float(elem)) return float_literal(elem, static_cast<long double>(value), where);
  if (value < limits(elem).low) return cannot_hold(elem, value, where);
  return constant(elem, static_cast<std::uint64_t>(value) & mask(elem), where);
}

ValueRef literal(Elem elem, std::uint64_t value, SourceLoc where) noexcept {
  if (is_float(elem)) return float_literal(elem, static_cast<long double>(value), where);
  if (value > limits(elem).high) return cannot_hold(elem, value, where);
  return constant(elem, value, where);
}

}  // namespace tessera::inline v0::detail
