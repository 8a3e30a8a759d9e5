// SPDX-License-Identifier: MIT OR Apache-2.0
#include "client/pending_core.hpp"

#include <fmt/format.h>

#include <thread>

#include "server/command_writer.hpp"

namespace tessera::inline v0::detail {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto spin_time = std::chrono::microseconds(20);

// Whether the executor got to the command before the deadline.
bool wait_enqueued(PendingCore& pending, driver::Deadline deadline) {
  server::PendingState& state = *pending.state;
  const auto spin_until = Clock::now() + spin_time;
  do {
    if (state.enqueued.load(std::memory_order_acquire)) return true;
  } while (Clock::now() < spin_until);
  std::unique_lock lock(state.mutex);
  const auto done = [&] { return state.enqueued.load(std::memory_order_acquire); };
  while (!done()) {
    // A closed device executes nothing more; look now and then.
    auto until = Clock::now() + std::chrono::milliseconds(100);
    if (deadline && *deadline < until) until = *deadline;
    state.changed.wait_until(lock, until, done);
    if (done()) return true;
    if (deadline && Clock::now() >= *deadline) return false;
    if (!pending.device->is_open()) return false;
  }
  return true;
}

}  // namespace

PendingCore::~PendingCore() {
  if (!taken && device != nullptr && device->is_open()) {
    device->shared().dropped_reads.push(std::move(state));
  }
}

void PendingDeleter::operator()(PendingCore* pending) const noexcept {
  delete pending;
}

PendingPtr new_pending(const BufferRef& buffer) {
  PendingPtr pending(new PendingCore);
  pending->device = buffer.allocation->device;
  pending->bytes = buffer.bytes;
  return pending;
}

PendingPtr failed_pending(const Error& error) {
  PendingPtr pending(new PendingCore);
  pending->state->failure = error;
  pending->state->enqueued.store(true);
  return pending;
}

bool pending_ready(const PendingCore& pending) {
  if (pending.device != nullptr && !pending.device->is_open()) return true;
  if (!pending.state->enqueued.load(std::memory_order_acquire)) return false;
  if (pending.device == nullptr || pending.state->failure) return true;
  const server::Executor::DriverUse use(pending.device->executor());
  if (!use) return true;
  for (const server::Point p : pending.state->waits) {
    if (pending.device->driver().completed(p.queue) < p.ticket) {
      return pending.device->driver().lost().has_value();
    }
  }
  return true;
}

bool pending_wait(PendingCore& pending, std::chrono::nanoseconds at_most) {
  if (pending_ready(pending)) return true;
  const driver::Deadline deadline = Clock::now() + at_most;
  if (!wait_enqueued(pending, deadline)) return false;
  for (const server::Point p : pending.state->waits) {
    const Result<bool> done = pending.device->executor().wait_host(p, deadline);
    if (!done) return true;  // lost: get() says so
    if (!*done) return false;
  }
  return true;
}

std::uint64_t pending_bytes(const PendingCore& pending) {
  return pending.bytes;
}

Status settle(PendingCore& pending, driver::Deadline deadline) {
  server::PendingState& state = *pending.state;
  if (pending.device == nullptr) return *state.failure;
  DeviceCore& core = *pending.device;
  if (!core.is_open()) return core.closed();
  server::Executor& executor = core.executor();
  if (!wait_enqueued(pending, deadline)) {
    if (!core.is_open()) return core.closed();
    return Error(ErrorKind::Timeout, "The deadline passed before the command was reached.");
  }
  for (const server::Point p : state.waits) {
    const Result<bool> done = executor.wait_host(p, deadline);
    if (!done) {
      const auto failure = executor.ask([&](server::Server& server) {
        server.inspect();
        return state.failure;
      });
      if (!failure) return core.closed();
      return *failure ? Status(**failure) : Status(done.error());
    }
    if (!*done) return Error(ErrorKind::Timeout, "The deadline passed before the device was done.");
  }
  // Everything that the answer depends on has completed; now look at what it left.
  const auto failure = executor.ask([&](server::Server& server) {
    server.inspect();
    if (state.failure || !state.sync) return state.failure;
    if (state.binding) return server.check(*state.binding);
    return server.earliest_failure(state.whole_device ? std::nullopt : std::optional(state.stream));
  });
  if (!failure) return core.closed();
  return *failure ? Status(**failure) : Status();
}

Status pending_settle(PendingCore& pending) {
  return pending_settle(pending, std::nullopt);
}

Status pending_settle(PendingCore& pending, driver::Deadline deadline) {
  const Status settled = settle(pending, deadline);
  if (settled) return {};
  const Error& error = settled.error();
  // A view that could not be made, or a lost device, is no failure of the bytes.
  if (pending.device == nullptr || error.kind() == ErrorKind::DeviceLost ||
      error.kind() == ErrorKind::Timeout) {
    return error;
  }
  return Error(ErrorKind::BufferFailed,
               "The buffer does not hold what it should: what was to write it failed.")
      .with_cause(error);
}

Status pending_take(PendingCore& pending, std::span<std::byte> to) {
  const std::span<std::byte> one[1] = {to};
  return pending_take(pending, one);
}

// Buffers of no bytes have no part.
Status pending_take(PendingCore& pending, std::span<const std::span<std::byte>> to) {
  if (Status settled = pending_settle(pending); !settled) return settled;
  const server::Executor::DriverUse use(pending.device->executor());
  if (!use) return pending.device->closed();
  pending.taken = true;
  auto part = pending.state->parts.begin();
  Status first;
  for (const std::span<std::byte> bytes : to) {
    if (bytes.empty()) continue;
    Status s = pending.device->driver().take_read(part->read, bytes);
    if (!s && first) first = s;
    ++part;
  }
  return first;
}

Status sync(const std::shared_ptr<DeviceCore>& core, server::StreamId stream, SyncScope scope,
            Deadline deadline, SourceLoc where, const BufferRef* buffer) {
  if (!core->is_open()) return core->closed();
  driver::Deadline until;
  if (deadline) {
    until = Clock::now() + std::chrono::duration_cast<Clock::duration>(*deadline);
  }
  PendingCore pending;
  pending.device = core;
  pending.taken = true;  // there are no bytes
  const std::size_t bindings = buffer != nullptr ? 1 : 0;
  server::CommandWriter<server::SyncCommand> command(stream, where, bindings);
  command->pending = core->shared().pendings.insert(pending.state);
  command->whole_device = scope == SyncScope::device ? 1 : 0;
  command->binding_count = static_cast<std::uint32_t>(bindings);
  if (buffer != nullptr) command.bindings()[0] = binding_of(*buffer, server::Access::in);
  core->executor().run_or_push(command.header());
  return buffer != nullptr ? pending_settle(pending, until) : settle(pending, until);
}

}  // namespace tessera::inline v0::detail
