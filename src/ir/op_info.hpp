// SPDX-License-Identifier: MIT OR Apache-2.0
// The columns of the op table as data.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tessera/ir/opcode.hpp"

namespace tessera::ir {

enum class ResultRule : std::uint8_t { same, boolean, given, nothing };
enum class Elements : std::uint8_t { any, number, integer, floating, boolean, bits, own };
enum Traits : std::uint16_t {
  trait_pure = 1,
  trait_reads = 2,
  trait_writes = 4,
  trait_commutative = 8,
  trait_lanewise = 16,
  trait_convergent = 32,
  trait_control = 64,
  trait_atomic = 128,
};

struct OpInfo {
  std::string_view name;
  int operands;
  ResultRule result;
  Elements elements;
  std::uint16_t traits;
  bool has(Traits t) const { return (traits & t) != 0; }
};

const OpInfo& info(detail::Opcode code) noexcept;
std::optional<detail::Opcode> opcode_from_name(std::string_view name) noexcept;

std::string_view to_string(detail::Builtin builtin) noexcept;
std::optional<detail::Builtin> builtin_from_name(std::string_view name) noexcept;

}  // namespace tessera::ir
