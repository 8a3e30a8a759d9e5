// SPDX-License-Identifier: MIT OR Apache-2.0
// Buffers' operations as commands.
#include "tessera/detail/buffer_ref.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>

#include "client/default_stream.hpp"
#include "client/device_core.hpp"
#include "client/pending_core.hpp"
#include "server/command_writer.hpp"

namespace tessera::inline v0::detail {
namespace {

using server::Access;
using server::CommandWriter;

BufferRef invalid_view(const BufferRef& from, Error error) {
  BufferRef view = from;
  view.bytes = 0;
  view.invalid = std::make_shared<const Error>(std::move(error));
  return view;
}

Error no_device(SourceLoc where) {
  return Error(ErrorKind::InvalidArgument,
               "The buffer belongs to no device: it was made by default construction.", where);
}

DeviceCore& core_of(const BufferRef& buffer) {
  return *buffer.allocation->device;
}

/// The bytes of one element repeated to at most eight, where a fill can do it.
bool fill_pattern(std::span<const std::byte> element, std::uint64_t& pattern,
                  std::uint32_t& width) {
  pattern = 0;
  if (element.size() <= 8) {
    std::memcpy(&pattern, element.data(), element.size());
    width = static_cast<std::uint32_t>(element.size());
    return true;
  }
  // A longer element (a vector) is fine where it repeats with a period of eight bytes.
  std::memcpy(&pattern, element.data(), 8);
  width = 8;
  for (std::size_t i = 8; i < element.size(); ++i) {
    if (element[i] != element[i - 8]) return false;
  }
  return true;
}

}  // namespace

BufferRef allocate(const std::shared_ptr<DeviceCore>& device, std::uint64_t bytes,
                   SourceLoc where) {
  AllocationNode* node = new_node(*device);
  node->device = device;
  node->bytes = bytes;
  BufferRef buffer;
  buffer.allocation = AllocationPtr(node);
  buffer.bytes = bytes;
  if (!device->is_open()) return buffer;
  node->id = device->shared().ids.next();
  CommandWriter<server::AllocCommand> command(default_stream(*device), where);
  command->allocation = node->id;
  command->bytes = bytes;
  device->executor().push(command.header());
  return buffer;
}

BufferRef allocate(const std::shared_ptr<DeviceCore>& device, std::uint64_t count,
                   std::uint64_t size, SourceLoc where) {
  if (count > std::numeric_limits<std::uint64_t>::max() / size) {
    BufferRef buffer = allocate(device, std::uint64_t{0}, where);
    return invalid_view(buffer,
                        Error(ErrorKind::TooLarge,
                              fmt::format("A buffer of {} elements of {} bytes each has more bytes "
                                          "than 64 bits can count.",
                                          count, size),
                              where));
  }
  return allocate(device, count * size, where);
}

BufferRef slice(const BufferRef& from, std::uint64_t begin, std::uint64_t count,
                std::uint64_t element, SourceLoc where) {
  if (from.invalid) return from;
  const std::uint64_t size = from.bytes / element;
  if (begin > size || count > size - begin) {
    return invalid_view(
        from, Error(ErrorKind::InvalidArgument,
                    fmt::format("A slice of {} elements from element {} does not fit a buffer of "
                                "{} elements.",
                                count, begin, size),
                    where));
  }
  BufferRef view = from;
  view.offset += begin * element;
  view.bytes = count * element;
  return view;
}

BufferRef reinterpret(const BufferRef& from, std::uint64_t element, SourceLoc where) {
  if (from.invalid || (from.bytes % element == 0 && from.offset % element == 0)) return from;
  return invalid_view(from,
                      Error(ErrorKind::InvalidArgument,
                            fmt::format("{} bytes at offset {} cannot be seen as elements of {} "
                                        "bytes: size and offset must be multiples of it.",
                                        from.bytes, from.offset, element),
                            where));
}

BufferRef clone(const BufferRef& from, const Stream* stream, SourceLoc where) {
  if (!from.allocation) return from;
  BufferRef to = allocate(from.allocation->device, from.bytes, where);
  copy(from, to, stream, where);
  return to;
}

void set_label(const BufferRef& buffer, std::string_view name) {
  if (buffer.allocation && core_of(buffer).is_open()) {
    core_of(buffer).shared().labels.set(buffer.allocation->id, std::string(name));
  }
}

Status status(const BufferRef& buffer) {
  if (buffer.invalid) return *buffer.invalid;
  if (!buffer.allocation) return no_device({});
  DeviceCore& core = core_of(buffer);
  if (!core.is_open()) return core.closed();
  const server::Binding binding = binding_of(buffer, Access::in);
  const auto answer = core.executor().ask([&](server::Server& server) {
    server.inspect();
    return server.check(binding);
  });
  if (!answer) return core.closed();
  return *answer ? Status(**answer) : Status();
}

PendingPtr download(std::span<const BufferRef* const> buffers, const Stream* stream,
                    SourceLoc where) {
  DeviceCore* core = nullptr;
  for (const BufferRef* buffer : buffers) {
    if (buffer->invalid) return failed_pending(*buffer->invalid);
    if (!buffer->allocation) return failed_pending(no_device(where));
    if (core == nullptr) core = &core_of(*buffer);
    if (core != &core_of(*buffer)) {
      return failed_pending(Error(
          ErrorKind::InvalidArgument,
          fmt::format("Buffers of {} and {} cannot be read in one call: read them one by one.",
                      core->device().name, core_of(*buffer).device().name),
          where));
    }
    if (std::optional<Error> foreign = check_stream(*buffer, stream, where)) {
      return failed_pending(*foreign);
    }
  }
  if (!core->is_open()) return failed_pending(core->closed());
  PendingPtr pending = new_pending(*buffers.front());
  CommandWriter<server::ReadCommand> command(stream_id(*core, stream), where, buffers.size());
  command->pending = core->shared().pendings.insert(pending->state);
  command->binding_count = static_cast<std::uint32_t>(buffers.size());
  pending->bytes = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    command.bindings()[i] = binding_of(*buffers[i], Access::in);
    pending->bytes += buffers[i]->bytes;
  }
  core->executor().run_or_push(command.header());
  return pending;
}

PendingPtr download(const BufferRef& buffer, const Stream* stream, SourceLoc where) {
  const BufferRef* one[1] = {&buffer};
  return download(one, stream, where);
}

Status sync(const BufferRef& buffer, Deadline deadline, SourceLoc where) {
  if (buffer.invalid) return *buffer.invalid;
  if (!buffer.allocation) return no_device(where);
  return sync(buffer.allocation->device, default_stream(core_of(buffer)), SyncScope::buffer,
              deadline, where, &buffer);
}

Status download_to(const BufferRef& buffer, std::span<std::byte> to, SourceLoc where) {
  if (!buffer.invalid && to.size() != buffer.bytes) {
    return Error(ErrorKind::InvalidArgument,
                 fmt::format("A buffer of {} bytes cannot be read into memory of {} bytes.",
                             buffer.bytes, to.size()),
                 where);
  }
  PendingPtr pending = download(buffer, nullptr, where);
  return pending_take(*pending, to);
}

void write(const BufferRef& buffer, std::span<const std::byte> bytes, const Stream* stream,
           SourceLoc where) {
  if (buffer.invalid || !buffer.allocation) return;
  DeviceCore& core = core_of(buffer);
  if (!core.is_open()) return;
  if (std::optional<Error> foreign = check_stream(buffer, stream, where)) {
    return fail(core, buffer, *foreign, default_stream(core), where);
  }
  if (bytes.size() > buffer.bytes) {
    return fail(core, buffer,
                Error(ErrorKind::InvalidArgument,
                      fmt::format("{} bytes cannot be written to a buffer of {} bytes.",
                                  bytes.size(), buffer.bytes),
                      where),
                stream_id(core, stream), where);
  }
  if (bytes.empty()) return;
  CommandWriter<server::UploadCommand> command(stream_id(core, stream), where);
  command->to = binding_of(buffer, Access::out);
  command->to.bytes = bytes.size();
  const server::StagingPool::Lease lease = core.shared().staging.acquire(bytes.size());
  std::memcpy(lease.bytes.data(), bytes.data(), bytes.size());
  command->staging = lease.id;
  core.executor().push(command.header());
}

void write_exactly(const BufferRef& buffer, std::span<const std::byte> bytes, SourceLoc where) {
  if (buffer.invalid || !buffer.allocation || bytes.size() == buffer.bytes) {
    return write(buffer, bytes, nullptr, where);
  }
  fail(core_of(buffer), buffer,
       Error(ErrorKind::InvalidArgument,
             fmt::format("The shape asks for {} bytes, but {} bytes were given.", buffer.bytes,
                         bytes.size()),
             where),
       default_stream(core_of(buffer)), where);
}

void write_owned(const BufferRef& buffer, std::span<const std::byte> bytes,
                 std::shared_ptr<const void> owner, SourceLoc where) {
  if (bytes.size() <= server::StagingPool::copy_limit) return write(buffer, bytes, nullptr, where);
  if (buffer.invalid || !buffer.allocation) return;
  DeviceCore& core = core_of(buffer);
  if (!core.is_open()) return;
  CommandWriter<server::UploadCommand> command(default_stream(core), where);
  command->to = binding_of(buffer, Access::out);
  command->staging = core.shared().staging.adopt(base::Bytes(bytes, std::move(owner)));
  core.executor().push(command.header());
}

void copy(const BufferRef& from, const BufferRef& to, const Stream* stream, SourceLoc where) {
  if (to.invalid || !to.allocation) return;
  DeviceCore& core = core_of(to);
  if (!core.is_open()) return;
  if (std::optional<Error> foreign = check_stream(to, stream, where)) {
    return fail(core, to, *foreign, default_stream(core), where);
  }
  const auto refuse = [&](Error error) { fail(core, to, error, stream_id(core, stream), where); };
  if (from.invalid) return refuse(*from.invalid);
  if (!from.allocation) return refuse(no_device(where));
  if (&core_of(from) != &core) {
    return refuse(Error(ErrorKind::InvalidArgument,
                        fmt::format("A buffer of {} cannot be copied to a buffer of {} this way: "
                                    "download it and upload it.",
                                    core_of(from).device().name, core.device().name),
                        where));
  }
  if (from.bytes != to.bytes) {
    return refuse(Error(ErrorKind::InvalidArgument,
                        fmt::format("A copy needs buffers of one size: source {} bytes, target {} "
                                    "bytes.",
                                    from.bytes, to.bytes),
                        where));
  }
  if (from.bytes == 0) return;
  if (from.allocation->id == to.allocation->id && from.offset < to.offset + to.bytes &&
      to.offset < from.offset + from.bytes) {
    if (from.offset == to.offset) return;  // a copy onto itself
    return refuse(Error(ErrorKind::InvalidArgument,
                        "Source and target of a copy overlap: copy through a clone().", where));
  }
  CommandWriter<server::CopyCommand> command(stream_id(core, stream), where);
  command->from = binding_of(from, Access::in);
  command->to = binding_of(to, Access::out);
  core.executor().push(command.header());
}

void fill(const BufferRef& buffer, std::span<const std::byte> element, const Stream* stream,
          SourceLoc where) {
  if (buffer.invalid || !buffer.allocation || buffer.bytes == 0) return;
  DeviceCore& core = core_of(buffer);
  if (!core.is_open()) return;
  if (std::optional<Error> foreign = check_stream(buffer, stream, where)) {
    return fail(core, buffer, *foreign, default_stream(core), where);
  }
  CommandWriter<server::FillCommand> command(stream_id(core, stream), where);
  command->to = binding_of(buffer, Access::out);
  if (fill_pattern(element, command->pattern, command->width)) {
    core.executor().push(command.header());
    return;
  }
  // An element with no short period is written from the host.
  std::vector<std::byte> bytes(buffer.bytes);
  for (std::size_t i = 0; i < bytes.size(); i += element.size()) {
    std::memcpy(bytes.data() + i, element.data(), element.size());
  }
  CommandWriter<server::UploadCommand> upload(stream_id(core, stream), where);
  upload->to = binding_of(buffer, Access::out);
  upload->staging = core.shared().staging.adopt(base::Bytes(std::move(bytes)));
  core.executor().push(upload.header());
}

}  // namespace tessera::inline v0::detail
