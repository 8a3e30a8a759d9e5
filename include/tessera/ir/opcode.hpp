// SPDX-License-Identifier: MIT OR Apache-2.0
// The enumerations that the language's headers and the library's IR share.
#pragma once

#include <cstdint>

namespace tessera::inline v0::detail {

enum class Opcode : std::uint8_t {
#define TESSERA_OP(name, operands, result, elements, traits) name,
#include "tessera/ir/ops.def"
#undef TESSERA_OP
};

inline constexpr int opcode_count = 0
#define TESSERA_OP(name, operands, result, elements, traits) +1
#include "tessera/ir/ops.def"
#undef TESSERA_OP
    ;

/// Built-in values. Linear ones count x fastest. All are Index.
enum class Builtin : std::uint8_t {
  unit_pos_x,
  unit_pos_y,
  unit_pos_z,
  unit_pos,
  cube_pos_x,
  cube_pos_y,
  cube_pos_z,
  cube_pos,
  cube_dim_x,
  cube_dim_y,
  cube_dim_z,
  cube_dim,
  cube_count_x,
  cube_count_y,
  cube_count_z,
  cube_count,
  absolute_pos_x,
  absolute_pos_y,
  absolute_pos_z,
  absolute_pos,
};
inline constexpr int builtin_count = 20;

/// How an argument may be used, as its parameter type declares it.
enum class Access : std::uint8_t { none = 0, in = 1, out = 2, inout = 3 };

/// Where a memory operation goes: a binding of the kernel or one of its shared blocks.
struct MemoryRef {
  bool shared = false;
  std::uint32_t index = 0;
  friend constexpr bool operator==(MemoryRef, MemoryRef) = default;
};
constexpr std::uint64_t pack(MemoryRef m) noexcept {
  return (std::uint64_t{m.shared} << 32) | m.index;
}
constexpr MemoryRef unpack_memory(std::uint64_t attr) noexcept {
  return {(attr >> 32) != 0, static_cast<std::uint32_t>(attr)};
}

}  // namespace tessera::inline v0::detail
