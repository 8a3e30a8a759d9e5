// SPDX-License-Identifier: MIT OR Apache-2.0
#include "ir/op_info.hpp"

#include <algorithm>
#include <array>

namespace tessera::ir {
namespace {

// The table's words, so that its rows read as they are written.
constexpr std::uint16_t pure = trait_pure, reads = trait_reads, writes = trait_writes,
                        commutative = trait_commutative, lanewise = trait_lanewise,
                        convergent = trait_convergent, control = trait_control,
                        atomic = trait_atomic;

constexpr OpInfo table[] = {
#define TESSERA_OP(name, operands, result, elements, traits) \
  OpInfo{#name, operands, ResultRule::result, Elements::elements, traits},
#include "tessera/ir/ops.def"
#undef TESSERA_OP
};
static_assert(std::size(table) == detail::opcode_count);

constexpr std::array<std::string_view, detail::builtin_count> builtin_names = {
    "unit_pos_x", "unit_pos_y",     "unit_pos_z",     "unit_pos",       "cube_pos_x",
    "cube_pos_y", "cube_pos_z",     "cube_pos",       "cube_dim_x",     "cube_dim_y",
    "cube_dim_z", "cube_dim",       "cube_count_x",   "cube_count_y",   "cube_count_z",
    "cube_count", "absolute_pos_x", "absolute_pos_y", "absolute_pos_z", "absolute_pos"};

}  // namespace

const OpInfo& info(detail::Opcode code) noexcept {
  return table[static_cast<int>(code)];
}

std::optional<detail::Opcode> opcode_from_name(std::string_view name) noexcept {
  for (int i = 0; i < detail::opcode_count; ++i) {
    if (table[i].name == name) return static_cast<detail::Opcode>(i);
  }
  return std::nullopt;
}

std::string_view to_string(detail::Builtin builtin) noexcept {
  return builtin_names[static_cast<std::size_t>(builtin)];
}

std::optional<detail::Builtin> builtin_from_name(std::string_view name) noexcept {
  const auto it = std::find(builtin_names.begin(), builtin_names.end(), name);
  if (it == builtin_names.end()) return std::nullopt;
  return static_cast<detail::Builtin>(it - builtin_names.begin());
}

}  // namespace tessera::ir
