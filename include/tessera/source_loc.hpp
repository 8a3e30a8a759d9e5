// SPDX-License-Identifier: MIT OR Apache-2.0
// A place in the user's source: what every recorded operation and every error carries.
#pragma once

#include <cstdint>

namespace tessera::inline v0 {

/// File, line and function of a call. A three-member value over the compiler's builtins instead of
/// std::source_location, which some supported compiler and library pairs lack. The strings are
/// literals of the program and live as long as it does.
struct SourceLoc {
  const char* file = "";
  std::uint32_t line = 0;
  const char* function = "";

  static constexpr SourceLoc current(const char* file = __builtin_FILE(),
                                     std::uint32_t line = __builtin_LINE(),
                                     const char* function = __builtin_FUNCTION()) noexcept {
    return {file, line, function};
  }
};

}  // namespace tessera::inline v0
