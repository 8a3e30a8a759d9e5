// SPDX-License-Identifier: MIT OR Apache-2.0
#include "ir/interpreter.hpp"

#include <fmt/format.h>

#include "ir/interpreter_run.hpp"

namespace tessera::ir {

Result<RunOutcome> run(const Kernel& kernel, std::span<const BufferView> buffers,
                       std::span<const std::uint64_t> parameters, const RunOptions& options) {
  constexpr std::uint64_t most_units = 1024;
  const ParameterLayout layout = parameter_layout(kernel);
  if (buffers.size() != kernel.bindings.size() || parameters.size() < layout.count) {
    return Error(ErrorKind::InvalidArgument,
                 fmt::format("Kernel '{}' takes {} bindings and {} parameter words, but got {} and "
                             "{}.",
                             kernel.name, kernel.bindings.size(), layout.count, buffers.size(),
                             parameters.size()))
        .with_kernel(kernel.name);
  }
  if (kernel.unit_count() == 0 || kernel.unit_count() > most_units) {
    return Error(ErrorKind::InvalidArgument,
                 fmt::format("Kernel '{}' has {} units a cube; between 1 and {} are possible.",
                             kernel.name, kernel.unit_count(), most_units))
        .with_kernel(kernel.name);
  }
  return Run(kernel, buffers, parameters, options).all();
}

}  // namespace tessera::ir
