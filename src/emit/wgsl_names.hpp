// SPDX-License-Identifier: MIT OR Apache-2.0
// Spellings of WGSL: types, literals, names.
#pragma once

#include <string>

#include "ir/kernel.hpp"

namespace tessera::emit {

/// "f32", "vec4<u32>", "bool". The element is one that WGSL has.
std::string wgsl_type(ir::Type type);
/// A zero of the type.
std::string wgsl_zero(ir::Type type);
/// A scalar constant. Infinities and NaN cannot be written and are computed from a word that is
/// zero at run time.
std::string wgsl_literal(Elem elem, std::uint64_t bits);
/// Word i of the info block.
std::string wgsl_info(std::uint32_t word);
/// Empty, or the name of an element type that WGSL lacks (f16 counts as present where `f16`).
std::string wgsl_lacks(Elem elem, bool f16);

}  // namespace tessera::emit
