// SPDX-License-Identifier: MIT OR Apache-2.0
#include "passes/prepare.hpp"

#include "ir/verifier.hpp"
#include "passes/binding_io.hpp"
#include "passes/bounds.hpp"
#include "passes/cse.hpp"
#include "passes/dce.hpp"
#include "passes/fold.hpp"
#include "passes/rewrite.hpp"
#include "passes/slots.hpp"
#include "passes/uniformity.hpp"

namespace tessera::passes {

Status prepare(ir::Kernel& kernel, Observer observer, void* context) {
  const auto done = [&](std::string_view pass) -> Status {
    if (observer != nullptr) observer(context, pass, kernel);
#ifndef NDEBUG
    if (Status s = ir::verify(kernel); !s) return s;
#endif
    return {};
  };
  // The user's program is judged as it was written, before anything is moved or dropped.
  if (Status s = check_uniformity(kernel); !s) return s;
  compact(kernel);
  if (Status s = done("traced"); !s) return s;
  constexpr int most_rounds = 4;
  for (int round = 0; round < most_rounds; ++round) {
    bool changed = fold(kernel);
    if (Status s = done("fold"); !s) return s;
    changed |= forward_slots(kernel);
    if (Status s = done("slots"); !s) return s;
    compact(kernel);  // numbers in program order: sharing orders operands by them
    changed |= share_common(kernel);
    if (Status s = done("cse"); !s) return s;
    changed |= remove_dead(kernel);
    if (Status s = done("dce"); !s) return s;
    if (!changed) break;
  }
  prove_bounds(kernel);
  if (Status s = done("bounds"); !s) return s;
  compact(kernel);
  analyse_binding_io(kernel);
  return done("prepared");
}

}  // namespace tessera::passes
