// SPDX-License-Identifier: MIT OR Apache-2.0
// Reports, trimming, layouts and persistent windows.
#include "client/pending_core.hpp"
#include "server/command_writer.hpp"
#include "tessera/device.hpp"

namespace tessera::inline v0 {
namespace {

using server::AccountCommand;

void account(const Stream& stream, AccountCommand::Change change) {
  detail::DeviceCore& core = *stream.core();
  if (!core.is_open()) return;
  server::CommandWriter<AccountCommand> command(stream.id(), SourceLoc{});
  command->change = change;
  core.executor().push(command.header());
}

}  // namespace

PersistentScope::PersistentScope(Stream stream) : stream_(std::move(stream)) {
  account(stream_, AccountCommand::Change::open_persistent);
}

PersistentScope::~PersistentScope() {
  if (open_) account(stream_, AccountCommand::Change::close_persistent);
}

PersistentScope Device::persistent() const {
  return PersistentScope(stream());
}

std::vector<std::uint64_t> Device::stream_ids() const {
  if (!core_->is_open()) return {};
  const auto ids =
      core_->executor().ask([](const server::Server& server) { return server.used_queues(); });
  return ids ? *ids : std::vector<std::uint64_t>();
}

MemoryReport Device::memory() const {
  if (!core_->is_open()) return {};
  core_->executor().catch_up();
  const auto report = core_->executor().ask([](server::Server& server) {
    server.idle();
    return server.memory_report();
  });
  return report ? *report : MemoryReport();
}

Status Device::trim(Deadline deadline) const {
  if (!core_->is_open()) return core_->closed();
  core_->executor().catch_up();
  const auto more = core_->executor().ask([](server::Server& server) {
    server.trim();
    return server.trim_would_help();
  });
  if (!more) return core_->closed();
  if (!*more) return {};
  // What holds the rest back is work in flight or parked; that it failed is no matter of memory.
  const Status done = sync(deadline);
  if (!done &&
      (done.error().kind() == ErrorKind::Timeout || done.error().kind() == ErrorKind::DeviceLost)) {
    return done;
  }
  core_->executor().ask([](server::Server& server) {
    server.trim();
    return true;
  });
  return {};
}

Status Device::install(const MemoryLayout& layout) const {
  if (!core_->is_open()) return core_->closed();
  core_->executor().catch_up();
  const auto installed =
      core_->executor().ask([&](server::Server& server) { return server.install(layout); });
  return installed ? *installed : core_->closed();
}

}  // namespace tessera::inline v0
