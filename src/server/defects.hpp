// SPDX-License-Identifier: MIT OR Apache-2.0
// Mistakes that the fault campaign must find.
//
// A search that never finds anything may be looking in the wrong place. The campaign is built with
// TESSERA_SEEDED_DEFECTS, which turns defect() into a question that it can answer yes to, one
// mistake at a time; everywhere else it is a constant no and costs nothing.
#pragma once

#include <cstdint>
#include <string_view>

namespace tessera::server {

enum class Defect : std::uint8_t {
  none,
#define TESSERA_DEFECT(name, description) name,
#include "server/defects.def"
#undef TESSERA_DEFECT
};

#ifdef TESSERA_SEEDED_DEFECTS
inline thread_local Defect active_defect = Defect::none;
inline bool defect(Defect d) noexcept {
  return active_defect == d;
}
#else
constexpr bool defect(Defect) noexcept {
  return false;
}
#endif

}  // namespace tessera::server
