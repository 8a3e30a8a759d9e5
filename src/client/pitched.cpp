// SPDX-License-Identifier: MIT OR Apache-2.0
// Reading and writing tensors whose rows are padded: through a contiguous buffer and a copy of rows
// on the device, so that the padding never crosses to the host.
#include <fmt/format.h>

#include "client/default_stream.hpp"
#include "client/device_core.hpp"
#include "client/pending_core.hpp"
#include "server/command_writer.hpp"

namespace tessera::inline v0::detail {
namespace {

std::optional<Error> check_rows(DeviceCore& core, const BufferRef& buffer, const Rows& rows,
                                SourceLoc where) {
  if (rows.bytes == 0) {
    return Error(ErrorKind::InvalidArgument,
                 "The tensor's strides are neither contiguous nor those of padded rows: copy it to "
                 "a contiguous one in a kernel.",
                 where);
  }
  const std::uint64_t need = (rows.count - 1) * rows.pitch + rows.bytes;
  if (need > buffer.bytes) {
    return Error(
        ErrorKind::InvalidArgument,
        fmt::format("{} rows of {} bytes at a pitch of {} need {} bytes; the buffer has {}.",
                    rows.count, rows.bytes, rows.pitch, need, buffer.bytes),
        where);
  }
  if (!core.device().row_copies) {
    return Error(ErrorKind::Unsupported,
                 fmt::format("{} has no copy of rows, which a tensor with padded rows needs: use a "
                             "contiguous one, or copy it in a kernel.",
                             core.device().name),
                 where);
  }
  return std::nullopt;
}

void copy_rows(DeviceCore& core, const BufferRef& from, std::uint64_t from_pitch,
               const BufferRef& to, std::uint64_t to_pitch, const Rows& rows, SourceLoc where) {
  const auto span = [&](std::uint64_t pitch) { return (rows.count - 1) * pitch + rows.bytes; };
  server::CommandWriter<server::CopyCommand> command(default_stream(core), where);
  command->from = binding_of(from, server::Access::in);
  command->from.bytes = span(from_pitch);
  command->to = binding_of(to, server::Access::out);
  command->to.bytes = span(to_pitch);
  command->row = rows.bytes;
  command->from_pitch = from_pitch;
  command->to_pitch = to_pitch;
  core.executor().push(command.header());
}

}  // namespace

PendingPtr download_rows(const BufferRef& buffer, const Rows& rows, SourceLoc where) {
  if (buffer.invalid || !buffer.allocation || (rows.bytes != 0 && rows.count == 0)) {
    return download(buffer, nullptr, where);
  }
  DeviceCore& core = *buffer.allocation->device;
  if (!core.is_open()) return failed_pending(core.closed());
  if (std::optional<Error> bad = check_rows(core, buffer, rows, where)) return failed_pending(*bad);
  const BufferRef packed = allocate(buffer.allocation->device, rows.count * rows.bytes, where);
  copy_rows(core, buffer, rows.pitch, packed, rows.bytes, rows, where);
  return download(packed, nullptr, where);
}

void write_rows(const BufferRef& buffer, const Rows& rows, std::span<const std::byte> bytes,
                SourceLoc where) {
  if (buffer.invalid || !buffer.allocation) return;
  DeviceCore& core = *buffer.allocation->device;
  if (!core.is_open()) return;
  std::optional<Error> bad = check_rows(core, buffer, rows, where);
  if (!bad && bytes.size() != rows.count * rows.bytes) {
    bad = Error(ErrorKind::InvalidArgument,
                fmt::format("The shape asks for {} bytes, but {} bytes were given.",
                            rows.count * rows.bytes, bytes.size()),
                where);
  }
  if (bad) return fail(core, buffer, *bad, default_stream(core), where);
  if (bytes.empty()) return;
  const BufferRef packed = allocate(buffer.allocation->device, bytes.size(), where);
  write(packed, bytes, nullptr, where);
  copy_rows(core, packed, rows.bytes, buffer, rows.pitch, rows, where);
}

}  // namespace tessera::inline v0::detail
