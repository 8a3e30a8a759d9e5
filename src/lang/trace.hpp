// SPDX-License-Identifier: MIT OR Apache-2.0
// One run of a kernel function that records what it does: the library's side of lang/builder.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/kernel.hpp"
#include "tessera/lang/builder.hpp"
#include "tessera/result.hpp"

namespace tessera::lang {

/// What a trace starts from: the parameters, which the launch face knows from the signature.
struct TraceInput {
  std::string name;
  std::array<std::uint32_t, 3> units{1, 1, 1};
  bool checked = true;
  std::vector<ir::BindingParam> bindings;
  std::vector<ir::ScalarParam> scalars;
};

/// Calls `body(context)` with a trace current on this thread and returns the raw kernel (before
/// passes), verified. Errors recorded while tracing, and exceptions that leave the body, become
/// CompileFailed with the user's file and line. Nested traces are allowed: the outer one rests.
Result<ir::Kernel> trace(TraceInput input, void (*body)(void*), void* context);

}  // namespace tessera::lang
