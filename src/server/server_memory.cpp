// SPDX-License-Identifier: MIT OR Apache-2.0
// Making memory, host writes, fills and copies.
#include <fmt/format.h>

#include "server/defects.hpp"
#include "server/server.hpp"

namespace tessera::server {

// Out of memory: once, what holds nothing is given back and the request made again. Where pages are
// still on their way back the allocation waits for them, parked like a launch whose kernel is not
// ready; only when nothing more will come has it failed.
bool Server::run(const AllocCommand& command) {
  Allocation* known = allocations_.find(command.allocation);
  Allocation& a = known != nullptr ? *known : allocations_.make(command.allocation, command.bytes);
  if (a.awaiting) {
    a.awaiting = false;
    shared_.awaiting_memory.fetch_sub(1, std::memory_order_relaxed);
  }
  if (command.bytes == 0) return true;
  const StreamId stream = command.header.stream;
  Result<Block*> block = memory_.take(command.bytes, stream);
  if (!block && block.error().kind() == ErrorKind::OutOfMemory) {
    inspect();
    (void)ordering_.submit_all();
    memory_.release_free();
    memory_.collect();
    block = memory_.take(command.bytes, stream);
    if (!block && block.error().kind() == ErrorKind::OutOfMemory && memory_.room_may_come()) {
      a.awaiting = true;
      shared_.awaiting_memory.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
  }
  if (!block) {
    failures_.never_allocated(
        a,
        block.error().with_context(fmt::format("allocating {} bytes at {}:{}", command.bytes,
                                               command.header.site.file, command.header.site.line)),
        stream);
    return true;
  }
  a.block = *block;
  a.block->owner = a.id;
  a.region = {(*block)->page->id, (*block)->offset + zone(), command.bytes};
  paint_zones(a);
  return true;
}

void Server::run(const AccountCommand& command) {
  const StreamId stream = command.header.stream;
  switch (command.change) {
    case AccountCommand::Change::open_persistent:
      return memory_.open_persistent(stream);
    case AccountCommand::Change::close_persistent:
      return memory_.close_persistent(stream);
    case AccountCommand::Change::set_cap:
      return memory_.set_cap(stream, command.bytes);
  }
}

Touch Server::touch(const Binding& binding, bool reads, bool writes) {
  const Allocation* a = allocations_.find(binding.allocation);
  Touch t;
  t.block = a->block;
  t.region = {a->region.page, a->region.offset + binding.offset, binding.bytes};
  t.reads = reads;
  t.writes = writes;
  return t;
}

// The steps that host writes, fills and copies share. `enqueue(from region, to region)` gives the
// driver's ticket.
template <class Enqueue>
void Server::write_operation(OpKind kind, const CommandHeader& header, const Binding& to,
                             const Binding* from, std::string_view what, StagingId staging,
                             Enqueue&& enqueue) {
  const auto end_staging = [&] {
    if (staging != LogEntry::no_staging) shared_.staging.release(staging);
  };
  const Allocation* target = allocations_.find(to.allocation);
  if (to.bytes == 0 || target == nullptr || target->never) {
    // Nothing to write, or nowhere: memory that was never allocated keeps its own reason.
    end_staging();
    return;
  }
  WriteScope scope(failures_, {&to, 1}, header.stream, what, header.site);
  if (from != nullptr) {
    if (std::optional<Error> tainted = failures_.check(*from)) {
      scope.fail(*tainted);
      return end_staging();
    }
  }
  const QueueId queue = queue_of(header.stream);
  Touch touched[2] = {touch(to, false, true), {}};
  std::size_t count = 1;
  if (from != nullptr) touched[count++] = touch(*from, true, false);
  const std::span<const Touch> touches(touched, count);

  Status ordered = ordering_.before(queue, touches);
  Result<driver::Ticket> ticket =
      ordered ? enqueue(queue, touched[1].region, touched[0].region) : ordered.error();
  if (!ticket) {
    scope.fail(ticket.error().with_context(fmt::format("enqueueing the {} issued at {}:{}", what,
                                                       header.site.file, header.site.line)));
    return end_staging();
  }
  ordering_.after(queue, *ticket, touches);
  scope.succeed();

  LogEntry& entry = failures_.log().append();
  entry.kind = kind;
  entry.at = {queue, *ticket};
  entry.stream = header.stream;
  entry.site = header.site;
  entry.staging = staging;
  if (from != nullptr) {
    if (defect(Defect::copy_unlogged)) return;
    entry.reads.push_back({from->allocation, from->offset, from->offset + from->bytes});
  }
  entry.writes.push_back({to.allocation, to.offset, to.offset + to.bytes});
  if (defect(Defect::staging_early)) {
    entry.staging = LogEntry::no_staging;
    end_staging();
  }
  shared_.log_size.store(static_cast<std::uint32_t>(failures_.log().size()),
                         std::memory_order_relaxed);
}

void Server::run(const UploadCommand& command) {
  write_operation(OpKind::upload, command.header, command.to, nullptr, "host write",
                  command.staging,
                  [&](QueueId queue, const driver::Region&, const driver::Region& to) {
                    return driver_.upload(queue, shared_.staging.view(command.staging), to);
                  });
}

void Server::run(const FillCommand& command) {
  write_operation(OpKind::fill, command.header, command.to, nullptr, "fill", LogEntry::no_staging,
                  [&](QueueId queue, const driver::Region&, const driver::Region& to) {
                    return driver_.fill(queue, to, command.pattern,
                                        static_cast<int>(command.width));
                  });
}

void Server::run(const CopyCommand& command) {
  write_operation(OpKind::copy, command.header, command.to, &command.from, "copy",
                  LogEntry::no_staging,
                  [&](QueueId queue, const driver::Region& from, const driver::Region& to) {
                    return command.row == 0 ? driver_.copy(queue, from, to)
                                            : driver_.copy_rows(queue, from, command.from_pitch, to,
                                                                command.to_pitch, command.row);
                  });
}

void Server::run(const FailCommand& command) {
  const Error error = shared_.errors.take(command.error);
  const auto writes = bindings_of(command);
  for (const Binding& b : writes) failures_.claim(b, error, command.header.stream);
  failures_.log_failure(writes, error, command.header.stream);
}

}  // namespace tessera::server
