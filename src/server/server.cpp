// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/server.hpp"

#include <algorithm>

namespace tessera::server {

Server::Server(driver::Driver& driver, Loader& loader, Shared& shared, const ServerConfig& config)
    : driver_(driver),
      loader_(loader),
      shared_(shared),
      config_(config),
      pool_(driver, config.page_bytes, driver.properties().offset_alignment),
      ordering_(driver, pool_, std::min(config.max_streams, driver.properties().queues)),
      failures_(driver, allocations_) {
  hooks_.explain = [this](const LogEntry& entry, const driver::FaultWord& word) {
    return explain_fault(entry, word);
  };
  hooks_.release_staging = [this](StagingId id) { shared_.staging.release(id); };
}

Server::~Server() {
  if (counts_block_.bytes > 0) driver_.free(counts_block_.page);
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
  switch (command.kind) {
    case CommandKind::alloc:
      run(as<AllocCommand>(command));
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
      break;
    case CommandKind::pad:
    case CommandKind::spilled:
      break;  // the ring keeps these to itself
  }
}

void Server::idle() {
  (void)ordering_.submit_all();
  launches_held_ = 0;
  apply_releases();
  inspect();
}

void Server::inspect() {
  const std::size_t slots = failures_.free_slots();
  failures_.inspect(hooks_);
  shared_.fault_launches.fetch_sub(static_cast<std::uint32_t>(failures_.free_slots() - slots),
                                   std::memory_order_relaxed);
  shared_.log_size.store(static_cast<std::uint32_t>(failures_.log().size()),
                         std::memory_order_relaxed);
  ordering_.forget_completed();
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
  if (a->block != nullptr) pool_.give_back(a->block);
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
  if (command.kind == CommandKind::alloc || command.kind == CommandKind::flush) {
    return false;
  }
  if (command.kind == CommandKind::sync && as<SyncCommand>(command).whole_device != 0) return true;
  return std::any_of(parked_.begin(), parked_.end(), [&](const Parked& p) {
    return p.header().stream == command.stream || touches(command, p.regions);
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
    parked.regions.push_back({a->region.page, a->region.offset + b.offset, b.bytes});
  });
  parked_.push_back(std::move(parked));
}

void Server::unpark() {
  // In order; what is still held back holds back what comes after it as before.
  std::vector<Parked> before = std::move(parked_);
  parked_.clear();
  for (Parked& p : before) {
    const CommandHeader& command = p.header();
    each_binding(command, [&](const Binding& b) {
      if (Allocation* a = allocations_.find(b.allocation)) --a->parked_uses;
    });
    if (!parked_.empty() && must_park(command)) {
      park(command);
    } else {
      dispatch(command);
    }
    each_binding(command, [&](const Binding& b) {
      Allocation* a = allocations_.find(b.allocation);
      if (a != nullptr && a->released && a->parked_uses == 0) forget(*a);
    });
  }
}

std::optional<Error> Server::check(const Binding& binding) {
  // Whoever asks has a handle, so memory that is not here is still to be made.
  if (allocations_.find(binding.allocation) == nullptr) return std::nullopt;
  return failures_.check(binding);
}

std::optional<Error> Server::earliest_failure(std::optional<StreamId> stream) {
  return failures_.earliest(stream);
}

Point Server::oldest() const {
  const InflightLog& log = failures_.log();
  for (std::size_t i = 0; i < log.size(); ++i) {
    if (log[i].at.ticket != 0) return log[i].at;
  }
  return {};
}

std::uint64_t Server::trim() {
  apply_releases();
  return pool_.trim([this](const AccessRecord& record) { return ordering_.idle(record); });
}

MemoryUsage Server::memory_usage() const {
  const PoolUsage& pool = pool_.usage();
  return {allocations_.live(), pool.taken, pool.reserved, pool.pages};
}

}  // namespace tessera::server
