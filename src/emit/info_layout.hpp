// SPDX-License-Identifier: MIT OR Apache-2.0
// Layout of the info words that carry a launch's numbers to targets with 32-bit words.
#pragma once

#include <cstdint>

namespace tessera::emit {

/// Words 0..2 virtual cube count, 3 number of virtual cubes (folded variants), 4 fault slot,
/// 5 fault claim, 6 and 7 zero; then one word per parameter of ir::ParameterLayout, low 32 bits.
enum InfoWord : std::uint32_t {
  info_cubes = 0,
  info_cube_total = 3,
  info_fault_slot = 4,
  info_fault_claim = 5,
  info_parameters = 8,
};

}  // namespace tessera::emit
