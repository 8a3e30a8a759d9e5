// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/process.hpp"

#include <dlfcn.h>
#include <pthread.h>

namespace tessera::base {

std::atomic<std::uint32_t> detail::process_generation{0};

namespace {

// Registered when the library is loaded and not at first use: what is made once under a lock could
// be under way in another thread just when the process forks.
[[maybe_unused]] const int registered = pthread_atfork(
    nullptr, nullptr, [] { detail::process_generation.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

void pin_library() noexcept {
  Dl_info here;
  if (dladdr(reinterpret_cast<const void*>(&pin_library), &here) == 0) return;
  // For the program itself this fails or does nothing, and it is never unloaded.
  (void)dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  (void)dlerror();
}

}  // namespace tessera::base
