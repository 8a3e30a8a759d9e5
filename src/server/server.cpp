// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/server.hpp"

#include <algorithm>
#include <utility>

#include "server/defects.hpp"

namespace tessera::server {

Server::Server(driver::Driver& driver, Loader& loader, Shared& shared, const ServerConfig& config)
    : driver_(driver),
      loader_(loader),
      shared_(shared),
      config_(config),
      memory_(driver, config.layout, config.persistent, 2 * zone()),
      ordering_(driver, memory_, std::min(config.max_streams, driver.properties().queues)),
      failures_(driver, allocations_, ordering_.clocks()) {
  memory_.watch(ordering_.clocks());
  counts_block_.page = &counts_page_;
  hooks_.explain = [this](const LogEntry& entry, const driver::FaultWord& word) {
    return explain_fault(entry, word);
  };
  hooks_.release_staging = [this](StagingId id) { shared_.staging.release(id); };
}

Server::~Server() {
  if (failures_.lost()) {
    memory_.abandon();
  } else if (counts_page_.id != Page::unmapped) {
    driver_.free(counts_page_.id);
  }
}

void Server::execute(const CommandHeader& command) {
  apply_releases();
  if (!parked_.empty() && must_park(command)) {
    park(command);
  } else {
    dispatch(command);
  }
  ++executed_;
}

void Server::dispatch(const CommandHeader& command) {
  running_ = &command;
  if (failures_.lost()) {
    refuse_lost(command);
  } else {
    run(command);
  }
  running_ = nullptr;
}

void Server::run(const CommandHeader& command) {
  switch (command.kind) {
    case CommandKind::alloc:
      if (!run(as<AllocCommand>(command))) park(command);
      break;
    case CommandKind::upload:
      run(as<UploadCommand>(command));
      break;
    case CommandKind::fill:
      run(as<FillCommand>(command));
      break;
    case CommandKind::copy:
      run(as<CopyCommand>(command));
      break;
    case CommandKind::launch:
      if (!run(as<LaunchCommand>(command))) park(command);
      break;
    case CommandKind::read:
      run(as<ReadCommand>(command));
      break;
    case CommandKind::sync:
      run(as<SyncCommand>(command));
      break;
    case CommandKind::fail:
      run(as<FailCommand>(command));
      break;
    case CommandKind::flush:
      (void)ordering_.submit_all();
      memory_.collect();
      break;
    case CommandKind::account:
      run(as<AccountCommand>(command));
      break;
    case CommandKind::pad:
    case CommandKind::spilled:
      break;  // the ring keeps these to itself
  }
}

// Nothing reaches a lost device any more. What it held is unreachable rather than failed, so only
// the answers that somebody waits for carry the reason; claims from before it still come first.
void Server::refuse_lost(const CommandHeader& command) {
  const Error& lost = *failures_.lost();
  const auto answer = [&](PendingId id, std::optional<Error> claim) {
    const std::shared_ptr<PendingState> pending = shared_.pendings.take(id);
    pending->failure = claim ? *claim : lost;
    pending->publish();
  };
  switch (command.kind) {
    case CommandKind::alloc: {
      const auto& alloc = as<AllocCommand>(command);
      Allocation* a = allocations_.find(alloc.allocation);
      if (a == nullptr) a = &allocations_.make(alloc.allocation, alloc.bytes);
      if (std::exchange(a->awaiting, false)) {
        shared_.awaiting_memory.fetch_sub(1, std::memory_order_relaxed);
      }
      failures_.never_allocated(*a, lost, command.stream);
      break;
    }
    case CommandKind::upload:
      shared_.staging.release(as<UploadCommand>(command).staging);
      break;
    case CommandKind::launch: {
      const auto& launch = as<LaunchCommand>(command);
      const bool can_fault = loader_.entry(launch.kernel).can_fault;
      shared_.fault_launches.fetch_sub((can_fault ? 1u : 0u) + (launch.dynamic != 0 ? 1u : 0u),
                                       std::memory_order_relaxed);
      break;
    }
    case CommandKind::read: {
      const auto& read = as<ReadCommand>(command);
      answer(read.pending, failures_.check(bindings_of(read)));
      break;
    }
    case CommandKind::sync:
      answer(as<SyncCommand>(command).pending, std::nullopt);
      break;
    case CommandKind::fail:
      (void)shared_.errors.take(as<FailCommand>(command).error);
      break;
    default:
      break;
  }
}

void Server::lose(const Error& error) {
  failures_.lose(error);
  inspect();
}

void Server::idle() {
  apply_releases();
  inspect();
  if (memory_.retiring() > 0) memory_.collect(failures_.lost().has_value());
  if (awaiting_memory() > 0) unpark();
  (void)ordering_.submit_all();  // last: whatever the above enqueued starts too
  launches_held_ = 0;
}

void Server::inspect() {
  const std::size_t slots = failures_.free_slots();
  failures_.inspect(hooks_);
  shared_.fault_launches.fetch_sub(static_cast<std::uint32_t>(failures_.free_slots() - slots),
                                   std::memory_order_relaxed);
  shared_.log_size.store(static_cast<std::uint32_t>(failures_.log().size()),
                         std::memory_order_relaxed);
  ordering_.forget_completed();
  if (!zone_checks_.empty()) read_zones();
}

void Server::apply_releases() {
  shared_.releases.apply(executed_, [this](AllocationId id) { release(id); });
  shared_.dropped_reads.apply([this](PendingState& pending) {
    pending.dropped = true;  // where its command is still to come, that one gives the reads back
    if (pending.enqueued.load(std::memory_order_acquire)) give_back_reads(pending);
  });
}

void Server::release(AllocationId id) {
  Allocation* a = allocations_.find(id);
  if (a == nullptr) return;
  // The block is free for the next request now, whatever is still running on it or parked for it:
  // its record orders the new owner's operations after those.
  check_zones(*a);
  if (a->block != nullptr) memory_.give_back(a->block);
  a->block = nullptr;
  a->released = true;
  if (a->parked_uses == 0) forget(*a);
}

void Server::forget(Allocation& a) {
  const AllocationId id = a.id;
  allocations_.forget(id);
  shared_.labels.forget(id);
  shared_.ids.recycle(id);
}

// Parking. A launch whose kernel is not ready waits, and with it every later command of its stream
// or on bytes that a waiting command touches: so the order that ordering would have given is kept.
// Allocations and releases are never held back, so that placement does not depend on how long a
// compiler takes; hence bytes are compared, not allocations.

template <class F>
void Server::each_binding(const CommandHeader& command, F&& f) {
  switch (command.kind) {
    case CommandKind::upload:
      f(as<UploadCommand>(command).to);
      break;
    case CommandKind::fill:
      f(as<FillCommand>(command).to);
      break;
    case CommandKind::copy:
      f(as<CopyCommand>(command).from);
      f(as<CopyCommand>(command).to);
      break;
    case CommandKind::launch: {
      const auto& launch = as<LaunchCommand>(command);
      for (const Binding& b : bindings_of(launch)) f(b);
      if (launch.dynamic != 0) f(launch.count);
      break;
    }
    case CommandKind::read:
      for (const Binding& b : bindings_of(as<ReadCommand>(command))) f(b);
      break;
    case CommandKind::fail:
      for (const Binding& b : bindings_of(as<FailCommand>(command))) f(b);
      break;
    case CommandKind::sync:
      for (const Binding& b : bindings_of(as<SyncCommand>(command))) f(b);
      break;
    default:
      break;
  }
}

bool Server::touches(const CommandHeader& command, std::span<const driver::Region> regions) {
  bool overlap = false;
  each_binding(command, [&](const Binding& b) {
    const Allocation* a = allocations_.find(b.allocation);
    if (a == nullptr || a->region.bytes == 0) return;
    const std::uint64_t begin = a->region.offset + b.offset;
    for (const driver::Region& r : regions) {
      overlap = overlap || (r.page == a->region.page && begin < r.offset + r.bytes &&
                            r.offset < begin + b.bytes);
    }
  });
  return overlap;
}

bool Server::must_park(const CommandHeader& command) {
  if (command.kind == CommandKind::alloc || command.kind == CommandKind::flush ||
      command.kind == CommandKind::account) {
    return false;
  }
  if (command.kind == CommandKind::sync && as<SyncCommand>(command).whole_device != 0) return true;
  bool awaits = false;
  each_binding(command, [&](const Binding& b) {
    const Allocation* a = allocations_.find(b.allocation);
    awaits = awaits || (a != nullptr && a->awaiting);
  });
  return awaits || std::any_of(parked_.begin(), parked_.end(), [&](const Parked& p) {
           return p.header().stream == command.stream ||
                  (!defect(Defect::park_by_stream) && touches(command, p.regions));
         });
}

void Server::park(const CommandHeader& command) {
  Parked parked;
  const auto* bytes = reinterpret_cast<const std::byte*>(&command);
  parked.bytes.assign(bytes, bytes + command.bytes);
  each_binding(command, [&](const Binding& b) {
    Allocation* a = allocations_.find(b.allocation);
    if (a == nullptr) return;
    ++a->parked_uses;
    memory_.hold(a->region.page);
    parked.regions.push_back({a->region.page, a->region.offset + b.offset, b.bytes});
  });
  parked_.push_back(std::move(parked));
}

void Server::unpark() {
  // In order; what is still held back holds back what comes after it as before.
  std::vector<Parked> before = std::move(parked_);
  parked_.clear();
  for (Parked& p : before) {
    unparking_ = true;
    const CommandHeader& command = p.header();
    each_binding(command, [&](const Binding& b) {
      if (Allocation* a = allocations_.find(b.allocation)) --a->parked_uses;
    });
    const std::vector<driver::Region> held = std::move(p.regions);
    if (!parked_.empty() && must_park(command)) {
      park(command);
    } else {
      dispatch(command);
    }
    each_binding(command, [&](const Binding& b) {
      Allocation* a = allocations_.find(b.allocation);
      if (a != nullptr && a->released && a->parked_uses == 0) forget(*a);
    });
    for (const driver::Region& r : held) memory_.let_go(r.page);
  }
  unparking_ = false;
}

std::optional<Error> Server::check(const Binding& binding) {
  // Whoever asks has a handle, so memory that is not here is still to be made.
  if (allocations_.find(binding.allocation) == nullptr) return failures_.lost();
  std::optional<Error> claim = failures_.check(binding);
  return claim ? claim : failures_.lost();
}

std::optional<Error> Server::earliest_failure(std::optional<StreamId> stream) {
  std::optional<Error> claim = failures_.earliest(stream);
  return claim ? claim : failures_.lost();
}

Point Server::oldest() const {
  const InflightLog& log = failures_.log();
  for (std::size_t i = 0; i < log.size(); ++i) {
    if (log[i].at.ticket != 0) return log[i].at;
  }
  return {};
}

void Server::trim() {
  apply_releases();
  inspect();
  if (parked_.empty() && !failures_.lost()) relocate();
  memory_.release_free();
  memory_.collect(failures_.lost().has_value());
}

MemoryUsage Server::memory_usage() const {
  return {allocations_.live(), memory_.taken(), memory_.reserved() + memory_.retiring()};
}

MemoryReport Server::memory_report() const {
  MemoryReport report = memory_.report();
  report.staging = shared_.staging.outstanding();
  return report;
}

std::vector<StreamId> Server::used_queues() const {
  std::vector<StreamId> used;
  for (std::size_t q = 0; q < ordering_.queues(); ++q) {
    if (ordering_.last(static_cast<QueueId>(q)) > 0) used.push_back(q);
  }
  return used;
}

bool Server::pin(AllocationId id) {
  Allocation* a = allocations_.find(id);
  if (a == nullptr || a->block == nullptr) return false;
  ++a->block->pins;
  return true;
}

void Server::unpin(AllocationId id) {
  Allocation* a = allocations_.find(id);
  if (a != nullptr && a->block != nullptr) --a->block->pins;
}

driver::Region Server::place(const Binding& binding) {
  const Allocation* a = allocations_.find(binding.allocation);
  if (a == nullptr || a->region.page == Page::unmapped) return {};
  return {a->region.page, a->region.offset + binding.offset, binding.bytes};
}

}  // namespace tessera::server
