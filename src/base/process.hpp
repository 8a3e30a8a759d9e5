// SPDX-License-Identifier: MIT OR Apache-2.0
// Which process this is: threads and devices of a parent do not exist in its forked children.
//
// A child made by fork has the parent's memory and none of its threads, and locks that those
// threads held stay held for ever. So whatever owns threads or locks remembers the generation it
// was made in and is left alone, neither used nor destroyed, in any other. A number that a fork
// handler counts up is cheaper to ask for than a process id.
#pragma once

#include <atomic>
#include <cstdint>

namespace tessera::base {

namespace detail {
extern std::atomic<std::uint32_t> process_generation;
}

/// How many forks lie between the first process and this one.
inline std::uint32_t process_generation() noexcept {
  return detail::process_generation.load(std::memory_order_relaxed);
}

/// Keeps the code of this library in memory until the process ends, also where it came in a shared
/// library that is closed before: threads that sleep in it cannot be asked to leave. Idempotent.
void pin_library() noexcept;

}  // namespace tessera::base
