// SPDX-License-Identifier: MIT OR Apache-2.0
// The words that printer and parser share.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "ir/kernel.hpp"

namespace tessera::ir {

/// What the attribute of an operation is, and so how it is written.
enum class Attribute : std::uint8_t { nothing, bits, number, builtin, memory, axis };
Attribute attribute_of(Opcode code);

std::string quoted(std::string_view text);

inline constexpr std::array<std::string_view, 4> access_words{"none", "in", "out", "inout"};
inline constexpr std::array<std::string_view, 4> site_words{"load", "store", "atomic", "check"};

inline std::string_view access_word(Access a) {
  return access_words[static_cast<std::size_t>(a)];
}
inline std::string_view site_word(SiteKind k) {
  return site_words[static_cast<std::size_t>(k)];
}

template <std::size_t N>
std::optional<std::size_t> find_word(const std::array<std::string_view, N>& words,
                                     std::string_view word) {
  for (std::size_t i = 0; i < N; ++i) {
    if (words[i] == word) return i;
  }
  return std::nullopt;
}

}  // namespace tessera::ir
