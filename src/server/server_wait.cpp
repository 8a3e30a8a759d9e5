// SPDX-License-Identifier: MIT OR Apache-2.0
// Reads and syncs: enqueued here, waited for by the thread that wants the answer.
#include <fmt/format.h>

#include "server/defects.hpp"
#include "server/server.hpp"

namespace tessera::server {

void Server::give_back_reads(PendingState& pending) {
  for (const PendingState::Part& part : pending.parts) driver_.drop_read(part.read);
  pending.parts.clear();
}

void Server::run(const ReadCommand& command) {
  const std::shared_ptr<PendingState> pending = shared_.pendings.take(command.pending);
  const auto bindings = bindings_of(command);
  const auto finish = [&](const Error& error) {
    pending->failure = error.with_context(fmt::format(
        "reading it back at {}:{}", command.header.site.file, command.header.site.line));
    give_back_reads(*pending);
    pending->publish();
  };
  if (std::optional<Error> tainted = failures_.check(bindings)) return finish(*tainted);

  const QueueId queue = queue_of(command.header.stream);
  Point last;
  for (const Binding& b : bindings) {
    if (b.bytes == 0) continue;
    const Touch touched = touch(b, true, false);
    if (Status s = ordering_.before(queue, {&touched, 1}); !s) return finish(s.error());
    Result<driver::Driver::Download> download = driver_.download(queue, touched.region);
    if (!download) return finish(download.error());
    ordering_.after(queue, download->ticket, {&touched, 1});
    pending->parts.push_back({download->read, b.bytes});
    last = {queue, download->ticket};

    LogEntry& entry = failures_.log().append();
    entry.kind = OpKind::read;
    entry.at = last;
    entry.stream = command.header.stream;
    entry.site = command.header.site;
    entry.reads.push_back({b.allocation, b.offset, b.offset + b.bytes});
    entry.pending = pending;
  }
  if (last.ticket != 0) {
    pending->waits = ordering_.horizon(last);
    if (defect(Defect::inspect_one_queue)) pending->waits = {last};
    if (Status s = ordering_.submit_all(); !s) return finish(s.error());
    launches_held_ = 0;
  }
  if (pending->dropped) give_back_reads(*pending);
  pending->publish();
}

void Server::run(const SyncCommand& command) {
  const std::shared_ptr<PendingState> pending = shared_.pendings.take(command.pending);
  pending->sync = true;
  pending->whole_device = command.whole_device != 0;
  pending->stream = command.header.stream;
  const QueueId queue = queue_of(command.header.stream);
  if (command.binding_count > 0) {
    const Binding& b = bindings_of(command)[0];
    pending->binding = b;
    pending->failure = failures_.check(b);
    if (b.bytes > 0 && !pending->failure) {
      const Touch touched = touch(b, true, true);
      pending->waits = ordering_.horizon_of({&touched, 1});
    }
  } else if (pending->whole_device) {
    pending->waits = ordering_.horizon_of_all();
  } else if (ordering_.last(queue) > 0) {
    pending->waits = ordering_.horizon({queue, ordering_.last(queue)});
  }
  if (Status s = ordering_.submit_all(); !s) pending->failure = s.error();
  launches_held_ = 0;
  pending->publish();
}

}  // namespace tessera::server
