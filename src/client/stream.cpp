// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tessera/stream.hpp"

#include "client/pending_core.hpp"
#include "server/command_writer.hpp"

namespace tessera::inline v0 {

Status Stream::sync(Deadline deadline) const {
  return detail::sync(device_, id_, false, deadline, SourceLoc{});
}

Status Stream::status() const {
  const std::optional<Error> error = device_->executor().with_server([&](server::Server& server) {
    server.inspect();
    return server.earliest_failure(id_);
  });
  return error ? Status(*error) : Status();
}

void Stream::flush() const {
  server::CommandWriter<server::FlushCommand> command(id_, SourceLoc{});
  device_->executor().push(command.header());
}

}  // namespace tessera::inline v0
