// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tessera/stream.hpp"

#include "client/pending_core.hpp"
#include "server/command_writer.hpp"

namespace tessera::inline v0 {

Status Stream::sync(Deadline deadline) const {
  return detail::sync(device_, id_, detail::SyncScope::stream, deadline, SourceLoc{});
}

Status Stream::status() const {
  if (!device_->is_open()) return device_->closed();
  const auto answer = device_->executor().ask([&](server::Server& server) {
    server.inspect();
    return server.earliest_failure(id_);
  });
  if (!answer) return device_->closed();
  return *answer ? Status(**answer) : Status();
}

void Stream::flush() const {
  if (!device_->is_open()) return;
  server::CommandWriter<server::FlushCommand> command(id_, SourceLoc{});
  device_->executor().push(command.header());
}

void Stream::cap_memory(std::uint64_t bytes) const {
  if (!device_->is_open()) return;
  server::CommandWriter<server::AccountCommand> command(id_, SourceLoc{});
  command->change = server::AccountCommand::Change::set_cap;
  command->bytes = bytes;
  device_->executor().push(command.header());
}

}  // namespace tessera::inline v0
