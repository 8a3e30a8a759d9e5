// SPDX-License-Identifier: MIT OR Apache-2.0
// The passes that every traced kernel goes through on the issuing thread.
#pragma once

#include <string_view>

#include "ir/kernel.hpp"
#include "tessera/result.hpp"

namespace tessera::passes {

/// Canonicalises, folds, shares and removes operations, rejects barriers in non-uniform flow,
/// proves bounds checks, and fills BindingParam::analysed. On error (CompileFailed with the user's
/// file and line) the kernel is unusable. Pure; any thread; deterministic. `observer`, if given,
/// sees the kernel after each pass.
using Observer = void (*)(void* context, std::string_view pass, const ir::Kernel& kernel);
Status prepare(ir::Kernel& kernel, Observer observer = nullptr, void* context = nullptr);

}  // namespace tessera::passes
