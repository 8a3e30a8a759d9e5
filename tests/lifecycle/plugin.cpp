// SPDX-License-Identifier: MIT OR Apache-2.0
// A shared object with the library inside, as a plug-in of a larger program has it.
#include "lifecycle/program.hpp"

namespace tessera::lifecycle {
namespace {
Holder kept;
}
}  // namespace tessera::lifecycle

extern "C" __attribute__((visibility("default"))) void tessera_lifecycle_use(const char* spec) {
  tessera::lifecycle::fill(tessera::lifecycle::kept, spec);
}
