// SPDX-License-Identifier: MIT OR Apache-2.0
// Kernels of the failure and ordering tests: each does one plain thing, or one wrong thing.
#pragma once

#include <string>

#include "tessera/lang/dollar.hpp"
#include "tessera/tessera.hpp"

namespace tessera::sim_kernels {

/// As messages spell it.
template <auto K>
std::string name_of() {
  return std::string(detail::kernel_name<K>());
}

inline void plus_one(In<u32> x, Out<u32> y) {
  $if(absolute_pos < y.len()) {
    y[absolute_pos] = x.load_or(absolute_pos, 0u) + 1;
  }
}
inline void add_into(In<u32> x, InOut<u32> y) {
  $if(absolute_pos < y.len()) {
    y[absolute_pos] += x.load_or(absolute_pos, 0u);
  }
}
inline void bump(InOut<u32> x) {
  $if(absolute_pos < x.len()) {
    x[absolute_pos] += 1;
  }
}
inline void sevens(Out<u32> y) {
  $if(absolute_pos < y.len()) {
    y[absolute_pos] = 7u;
  }
}
/// Two outputs, one input, in the order in which errors are looked for.
inline void sum_and_difference(In<u32> a, In<u32> b, Out<u32> sum, Out<u32> difference) {
  $if(absolute_pos < sum.len()) {
    sum[absolute_pos] = a.load_or(absolute_pos, 0u) + b.load_or(absolute_pos, 0u);
    difference[absolute_pos] = a.load_or(absolute_pos, 0u) - b.load_or(absolute_pos, 0u);
  }
}
/// Declares two outputs and writes the first.
inline void writes_first_of_two(Out<u32> a, Out<u32> b) {
  $if(absolute_pos < a.len()) {
    a[absolute_pos] = 3u;
  }
  (void)b;
}
/// Faults wherever it is launched over all of x.
inline void reads_past(In<u32> x, Out<u32> y) {
  y[absolute_pos] = x[absolute_pos + 1];
}
/// Faults where the first element is zero.
inline void not_zero(In<u32> x, Out<u32> y) {
  check(x[0] != 0, "the first element is not zero");
  $if(absolute_pos < y.len()) {
    y[absolute_pos] = x.load_or(absolute_pos, 0u);
  }
}

}  // namespace tessera::sim_kernels
