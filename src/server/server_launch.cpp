// SPDX-License-Identifier: MIT OR Apache-2.0
// A launch, from command to log entry.
#include <fmt/format.h>

#include <algorithm>

#include "server/defects.hpp"
#include "server/launch/folding.hpp"
#include "server/server.hpp"

namespace tessera::server {
namespace {

bool has(Access access, Access bit) {
  return (static_cast<int>(access) & static_cast<int>(bit)) != 0;
}

bool overlap(const driver::Region& a, const driver::Region& b) {
  return a.page == b.page && a.bytes > 0 && b.bytes > 0 && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}

}  // namespace

void Server::collect_accesses(const LaunchCommand& command, const KernelEntry& kernel) {
  const auto bindings = bindings_of(command);
  reads_.clear();
  writes_.clear();
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    const Access analysed = kernel.kernel->bindings[i].analysed;
    if (has(analysed, Access::in)) reads_.push_back(bindings[i]);
    if (has(analysed, Access::out)) writes_.push_back(bindings[i]);
  }
}

// In argument order, the count last. With a dynamic count an output counts as an input: nothing
// says that the launch will write it.
std::optional<Error> Server::first_failed_input(const LaunchCommand& command) {
  if (command.dynamic == 0 || defect(Defect::count_not_input)) {
    std::span<const Binding> asked = reads_;
    if (defect(Defect::skip_last_input) && asked.size() > 1) asked = asked.first(asked.size() - 1);
    return failures_.check(asked);
  }
  for (const Binding& b : bindings_of(command)) {
    if (std::optional<Error> e = failures_.check(b)) return e;
  }
  return failures_.check(command.count);
}

driver::Variant Server::variant_for(const LaunchCommand& command, const KernelEntry& kernel) const {
  const driver::Properties& device = driver_.properties();
  driver::Variant variant;
  variant.folded = command.dynamic == 0 && needs_folding(command.cubes, device.max_cubes);
  variant.wide_index = command.wide_index != 0;
  const auto& params = kernel.kernel->bindings;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (has(params[i].analysed, Access::out) || (device.one_access_per_page && kernel.writes_any)) {
      variant.writable |= std::uint64_t{1} << i;
    }
  }
  // Bindings of one range share storage where the caller said so, and where the device would
  // otherwise see one range bound writable twice.
  const auto bindings = bindings_of(command);
  const bool exclusive = device.one_access_per_page && kernel.writes_any;
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    std::size_t target = i;
    for (std::size_t j = 0; j < i && target == i; ++j) {
      const bool same = bindings[i].allocation == bindings[j].allocation &&
                        bindings[i].offset == bindings[j].offset &&
                        bindings[i].bytes == bindings[j].bytes && bindings[i].bytes > 0 &&
                        params[i].type == params[j].type && params[i].atomic == params[j].atomic;
      if (same && (bindings[i].alias_of != Binding::no_alias || exclusive)) target = j;
    }
    if (target != i && variant.alias_of.empty()) {
      for (std::size_t k = 0; k < bindings.size(); ++k) {
        variant.alias_of.push_back(static_cast<std::uint8_t>(k));
      }
    }
    if (target != i) variant.alias_of[i] = variant.alias_of[target];
  }
  return variant;
}

bool Server::run(const LaunchCommand& command) {
  const KernelEntry& kernel = loader_.entry(command.kernel);
  const std::uint32_t slots = (kernel.can_fault ? 1u : 0u) + (command.dynamic != 0 ? 1u : 0u);
  std::uint32_t unused = slots;  // issued for this launch and not in the log
  const auto unused_slots = [&] {
    shared_.fault_launches.fetch_sub(unused, std::memory_order_relaxed);
  };
  if (command.dynamic == 0 &&
      (command.cubes[0] == 0 || command.cubes[1] == 0 || command.cubes[2] == 0)) {
    unused_slots();
    return true;
  }
  using State = LoadedVariant::State;
  LoadedVariant& variant = loader_.variant(command.kernel, variant_for(command, kernel));
  const State state = variant.state.load(std::memory_order_acquire);
  if (state == State::compiling) return false;
  LoadedVariant* guard = command.dynamic != 0 ? &count_guard() : nullptr;
  if (guard != nullptr && guard->state.load(std::memory_order_acquire) == State::compiling) {
    return false;
  }

  collect_accesses(command, kernel);
  const std::string& name = kernel.kernel->name;
  if (std::optional<Error> tainted = first_failed_input(command)) {
    unused_slots();
    const Error root = defect(Defect::lose_root)
                           ? Error(ErrorKind::BufferFailed, "An input is bad.", command.header.site)
                           : *tainted;
    const Error error =
        root.with_context(fmt::format("skipping kernel {} launched at {}:{}, which needs it", name,
                                      command.header.site.file, command.header.site.line));
    WriteScope scope(failures_, writes_, command.header.stream, name, command.header.site);
    if (command.dynamic != 0) {
      scope.fail_clean(error);  // what is tainted already stays as it is
    } else {
      scope.fail(error);
    }
    return true;
  }
  if (state == State::failed) {
    // What was declared counts, written or not: nothing was compiled that would write it.
    writes_.clear();
    for (const Binding& b : bindings_of(command)) {
      if (has(b.access, Access::out)) writes_.push_back(b);
    }
  }
  WriteScope scope(failures_, writes_, command.header.stream, name, command.header.site);
  const auto failed = [&](const Error& error) {
    unused_slots();
    scope.fail(error.with_kernel(name).with_context(fmt::format(
        "launching kernel {} at {}:{}", name, command.header.site.file, command.header.site.line)));
  };
  if (state == State::failed) {
    failed(*variant.error);
    return true;
  }
  if (guard != nullptr && guard->error) {
    failed(*guard->error);
    return true;
  }
  for (const Binding& b : bindings_of(command)) {
    // An output without memory: the reason is the allocation's.
    const Allocation* a = allocations_.find(b.allocation);
    if (a == nullptr || a->never) {
      failed(*failures_.check(b));
      return true;
    }
  }
  if (failures_.free_slots() < slots) inspect();
  if (failures_.free_slots() < slots) {
    failed(Error(ErrorKind::LaunchFailed,
                 fmt::format("More than {} launches that can fault are in flight.",
                             driver_.properties().fault_slots)));
    return true;
  }
  if (Status s = enqueue_launch(command, kernel, variant, guard, unused); !s) {
    failed(s.error());
    return true;
  }
  scope.succeed();
  if (++launches_held_ >= config_.submit_every) {
    launches_held_ = 0;
    (void)ordering_.submit(queue_of(command.header.stream));
    inspect();
  }
  return true;
}

// Where the device allows one access per page and this launch writes, two different overlapping
// ranges cannot both be bound: all but the first are read from a copy. (Overlap with a written
// range was refused before; see the client.)
Status Server::separate_overlaps(QueueId queue, const LaunchCommand& command,
                                 const KernelEntry& kernel, const driver::Variant& variant) {
  if (!driver_.properties().one_access_per_page || !kernel.writes_any) return {};
  const auto bindings = bindings_of(command);
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    if (!variant.alias_of.empty() && variant.alias_of[i] != i) continue;
    for (std::size_t j = 0; j < i; ++j) {
      if (!variant.alias_of.empty() && variant.alias_of[j] != j) continue;
      if (!overlap(regions_[i], regions_[j])) continue;
      Result<Block*> block = memory_.take_scratch(bindings[i].bytes);
      if (!block) return block.error();
      scratch_.push_back(*block);
      const driver::Region copy{(*block)->page->id, (*block)->offset, bindings[i].bytes};
      const Touch touched[2] = {{*block, copy, false, true}, touch(bindings[i], true, false)};
      Result<LogEntry*> entry =
          own_operation(OpKind::copy, queue, command.header.stream, touched,
                        [&] { return driver_.copy(queue, regions_[i], copy); });
      if (!entry) return entry.error();
      (*entry)->full_overwrite = true;
      (*entry)->reads.push_back(
          {bindings[i].allocation, bindings[i].offset, bindings[i].offset + bindings[i].bytes});
      const ByteRange scratch{{scratch_slot, next_scratch_++}, 0, bindings[i].bytes};
      (*entry)->writes.push_back(scratch);
      scratch_reads_.push_back(scratch);
      regions_[i] = copy;
      touches_[i] = {*block, copy, true, false};
      break;
    }
  }
  return {};
}

Status Server::enqueue_launch(const LaunchCommand& command, const KernelEntry& kernel,
                              const LoadedVariant& variant, const LoadedVariant* guard,
                              std::uint32_t& unused_slots) {
  const QueueId queue = queue_of(command.header.stream);
  const auto bindings = bindings_of(command);
  driver::LaunchDesc launch;
  launch.kernel = variant.id;
  launch.parameters = parameters_of(command);
  if (guard != nullptr) {
    Result<driver::Region> counts = enqueue_guard(command, queue, *guard);
    if (!counts) return counts.error();
    launch.indirect = *counts;
    --unused_slots;
  } else {
    launch.virtual_cubes = command.cubes;
    launch.cubes = variant.variant.folded
                       ? folded_grid(command.cubes, driver_.properties().max_cubes)
                       : command.cubes;
  }

  regions_.clear();
  touches_.clear();
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    const Access analysed = kernel.kernel->bindings[i].analysed;
    touches_.push_back(touch(bindings[i], has(analysed, Access::in), has(analysed, Access::out)));
    regions_.push_back(touches_.back().region);
  }
  const auto give_back_scratch = [&] {
    // Free for the next request at once: the blocks' records order it after this launch.
    for (Block* block : scratch_) memory_.give_back_scratch(block);
    scratch_.clear();
    scratch_reads_.clear();
  };
  Status separated = separate_overlaps(queue, command, kernel, variant.variant);
  if (separated && launch.indirect && !defect(Defect::count_slot_untracked)) {
    touches_.push_back({&counts_block_, *launch.indirect, true, false});
  }
  Status ordered = separated ? ordering_.before(queue, touches_) : separated;
  if (!ordered) {
    give_back_scratch();
    return ordered;
  }
  launch.bindings = regions_;

  LogEntry& entry = failures_.log().append();
  entry.kind = OpKind::launch;
  entry.stream = command.header.stream;
  entry.site = command.header.site;
  entry.kernel = command.kernel;
  entry.full_overwrite = command.dynamic == 0;
  // As first_failed_input() looks at them: with a dynamic count the outputs count as inputs.
  const std::span<const Binding> inputs =
      launch.indirect ? bindings : std::span<const Binding>(reads_);
  for (const Binding& b : inputs) {
    entry.reads.push_back({b.allocation, b.offset, b.offset + b.bytes});
  }
  for (const ByteRange& r : scratch_reads_) entry.reads.push_back(r);
  if (launch.indirect) {
    entry.reads.push_back({counts_allocation, launch.indirect->offset,
                           launch.indirect->offset + launch.indirect->bytes});
  }
  for (const Binding& b : writes_) {
    entry.writes.push_back({b.allocation, b.offset, b.offset + b.bytes});
  }
  std::uint32_t slot = LogEntry::no_slot;
  if (kernel.can_fault) {
    slot = failures_.take_slot();
    arm_fault(entry, launch, slot);
    entry.parameters.assign(launch.parameters.begin(), launch.parameters.end());
    for (const Binding& b : bindings) entry.bound.push_back(b.allocation);
  }
  Result<driver::Ticket> ticket = driver_.launch(queue, launch);
  if (!ticket) {
    if (slot != LogEntry::no_slot) failures_.return_slot(slot);
    failures_.log().drop_last();
    give_back_scratch();
    return ticket.error();
  }
  entry.at = {queue, *ticket};
  if (slot != LogEntry::no_slot) failures_.slot_armed();
  ordering_.after(queue, *ticket, touches_);
  give_back_scratch();
  shared_.log_size.store(static_cast<std::uint32_t>(failures_.log().size()),
                         std::memory_order_relaxed);
  return {};
}

}  // namespace tessera::server
