// SPDX-License-Identifier: MIT OR Apache-2.0
// The kernel in front of every launch with a dynamic cube count.
#pragma once

#include "ir/kernel.hpp"
#include "tessera/result.hpp"

namespace tessera::server {

/// count_guard(counts: In<u32>, page: Out<u32>, x, y, z: u32): copies the three counts to the page
/// that the launch takes them from, all zero where one is over its limit, which is also a fault of
/// this kernel: the launch behind it then runs nothing and its outputs are tainted, since it reads
/// the page. One unit.
Result<ir::Kernel> make_count_guard();

}  // namespace tessera::server
