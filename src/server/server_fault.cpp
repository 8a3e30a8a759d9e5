// SPDX-License-Identifier: MIT OR Apache-2.0
// From a fault word back to the user's source.
#include <fmt/format.h>

#include "server/server.hpp"

namespace tessera::server {

void Server::arm_fault(LogEntry& entry, driver::LaunchDesc& launch, std::uint32_t slot) {
  // The claim tags the word with its launch, so that a word left by an earlier one is not taken
  // for this one's.
  entry.fault_slot = slot;
  entry.fault_claim = next_claim_;
  launch.fault_slot = slot;
  launch.fault_claim = next_claim_;
  if (++next_claim_ == 0) next_claim_ = 1;
}

Error Server::explain_fault(const LogEntry& entry, const driver::FaultWord& word) const {
  const KernelEntry& loaded = loader_.entry(entry.kernel);
  const ir::Kernel& kernel = *loaded.kernel;
  const auto finish = [&](std::string sentence) {
    return Error(ErrorKind::KernelFault, std::move(sentence), entry.site).with_kernel(kernel.name);
  };
  if (word.site >= kernel.sites.size()) {
    return finish(
        fmt::format("Kernel {} reported a fault of no known place ({}).", kernel.name, word.site));
  }
  const ir::Site& site = kernel.sites[word.site];
  const ir::Loc& loc = kernel.locs[site.loc];
  const std::string at = fmt::format("{}:{}", loc.file, loc.line);
  if (site.kind == ir::SiteKind::check) {
    return finish(fmt::format("A check failed in kernel {} at {}, in unit {}: {}.", kernel.name, at,
                              word.index, site.text.empty() ? "condition is false" : site.text));
  }
  const std::string_view verb = site.kind == ir::SiteKind::load    ? "read"
                                : site.kind == ir::SiteKind::store ? "wrote"
                                                                   : "changed";
  if (site.memory.shared) {
    return finish(fmt::format("Kernel {} {} element {} of a shared block of {} elements at {}.",
                              kernel.name, verb, word.index, kernel.shared[site.memory.index].count,
                              at));
  }
  const std::uint32_t index = site.memory.index;
  const ir::BindingParam& binding = kernel.bindings[index];
  const std::string buffer = shared_.labels.name(entry.bound[index]);
  if (binding.rank == 0) {
    return finish(fmt::format("Kernel {} {} element {} of {} ({}), which has {} elements, at {}.",
                              kernel.name, verb, word.index, binding.name, buffer,
                              entry.parameters[loaded.layout.lengths + index], at));
  }
  std::string shape;
  for (int axis = 0; axis < binding.rank; ++axis) {
    shape += fmt::format("{}{}", axis == 0 ? "" : ", ",
                         entry.parameters[loaded.layout.shapes[index] + axis]);
  }
  const std::string element =
      binding.rank == 2 ? fmt::format("({}, {})", word.index >> 32, word.index & 0xffffffffu)
                        : fmt::format("number {}", word.index);
  return finish(fmt::format("Kernel {} {} element {} of {} ({}), whose shape is ({}), at {}.",
                            kernel.name, verb, element, binding.name, buffer, shape, at));
}

Error Server::describe_hang(std::chrono::nanoseconds after) const {
  const double seconds = std::chrono::duration<double>(after).count();
  const InflightLog& log = failures_.log();
  for (std::size_t i = 0; i < log.size(); ++i) {
    const LogEntry& entry = log[i];
    if (entry.at.ticket == 0 || driver_.completed(entry.at.queue) >= entry.at.ticket) continue;
    const std::string what =
        entry.kind == OpKind::launch
            ? fmt::format("kernel {}", loader_.entry(entry.kernel).kernel->name)
            : "an operation";
    return Error(
        ErrorKind::DeviceLost,
        fmt::format("{} has finished nothing for {} s and is taken for lost; it was at {} "
                    "issued at {}:{}. Where that may take longer, raise the "
                    "configuration key device.hang_seconds.",
                    driver_.properties().name, seconds, what, entry.site.file, entry.site.line),
        entry.site);
  }
  return Error(ErrorKind::DeviceLost,
               fmt::format("{} has finished nothing for {} s and is taken for lost.",
                           driver_.properties().name, seconds));
}

}  // namespace tessera::server
