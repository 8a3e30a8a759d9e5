// SPDX-License-Identifier: MIT OR Apache-2.0
// A coordinate as an argument: checks its type and remembers where it was written.
#pragma once

#include "tessera/lang/expr.hpp"

namespace tessera::inline v0::detail {

/// Index, u32, or a host integer. The call's line comes with it, since operator[] can take no
/// default argument.
struct IndexArg {
  ValueRef ref;
  SourceLoc where;

  template <Operand X>
  IndexArg(const X& x, SourceLoc at = SourceLoc::current()) : where(at) {  // NOLINT
    if constexpr (Device<X>) {
      using T = element_of<X>;
      static_assert(std::is_same_v<T, Index> || std::is_same_v<T, u32>,
                    "tessera: an index is an Index, a u32 or a host integer; insert cast<u32> or "
                    "cast<Index>");
      if constexpr (std::is_same_v<T, Index> || std::is_same_v<T, u32>) {
        ref = to_value<Index>(x, at);
      }
    } else {
      static_assert(!std::is_floating_point_v<X>, "tessera: an index is an integer");
      ref = to_value<Index>(x, at);
    }
  }
};

}  // namespace tessera::inline v0::detail
