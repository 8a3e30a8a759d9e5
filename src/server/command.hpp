// SPDX-License-Identifier: MIT OR Apache-2.0
// Commands: what clients ask of the server, as plain values.
//
// A command is one block of bytes: a fixed struct that begins with CommandHeader, then its arrays.
// It holds no closure and no pointer into memory of the user (the strings of a call site are
// literals of the program), so that it can be executed by the thread that made it, by the
// device's executor or, later, by another process. Its order is its position in the ring.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "server/ids.hpp"
#include "tessera/ir/opcode.hpp"
#include "tessera/source_loc.hpp"

namespace tessera::server {

using detail::Access;

/// A byte range of an allocation and what the operation may do to it.
struct Binding {
  static constexpr std::uint8_t no_alias = 0xff;
  AllocationId allocation;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  Access access = Access::none;      // declared
  std::uint8_t alias_of = no_alias;  // an earlier binding of the launch that it stands for
  std::uint8_t pad[6] = {};
};

enum class CommandKind : std::uint8_t {
  pad,      // fills the end of the ring
  spilled,  // the command lies outside the ring
  alloc,
  upload,
  fill,
  copy,
  launch,
  read,
  sync,
  fail,
  flush,
  account,
};

struct CommandHeader {
  std::uint32_t bytes = 0;  // of the whole command, arrays included
  CommandKind kind = CommandKind::pad;
  std::uint8_t pad[3] = {};
  StreamId stream = 0;
  SourceLoc site;
};

struct AllocCommand {
  static constexpr CommandKind kind = CommandKind::alloc;
  CommandHeader header;
  AllocationId allocation;
  std::uint64_t bytes = 0;
};

struct UploadCommand {
  static constexpr CommandKind kind = CommandKind::upload;
  CommandHeader header;
  Binding to;
  StagingId staging = 0;
};

struct FillCommand {
  static constexpr CommandKind kind = CommandKind::fill;
  CommandHeader header;
  Binding to;
  std::uint64_t pattern = 0;  // `width` bytes of it
  std::uint32_t width = 1;    // 1, 2, 4 or 8
};

struct CopyCommand {
  static constexpr CommandKind kind = CommandKind::copy;
  CommandHeader header;
  Binding from, to;
  // Nonzero: rows of so many bytes, so far apart, where the device copies rows.
  std::uint64_t row = 0, from_pitch = 0, to_pitch = 0;
};

/// Followed by Binding[binding_count], std::uint64_t[parameter_count] (ir::ParameterLayout).
struct LaunchCommand {
  static constexpr CommandKind kind = CommandKind::launch;
  CommandHeader header;
  KernelRef kernel = 0;
  std::array<std::uint32_t, 3> cubes{1, 1, 1};  // dynamic: the most it may be
  std::uint32_t binding_count = 0;
  std::uint32_t parameter_count = 0;
  std::uint32_t dynamic = 0;     // nonzero: the count is three u32 at `count`
  std::uint32_t wide_index = 0;  // nonzero: an extent or offset reaches 2^31
  Binding count;
};

/// Followed by Binding[binding_count]. All ranges are one pending.
struct ReadCommand {
  static constexpr CommandKind kind = CommandKind::read;
  CommandHeader header;
  PendingId pending = 0;
  std::uint32_t binding_count = 0;
};

/// Waits for the stream, or the whole device. Followed by Binding[binding_count]: then for whatever
/// touches these bytes, and the answer is about them.
struct SyncCommand {
  static constexpr CommandKind kind = CommandKind::sync;
  CommandHeader header;
  PendingId pending = 0;
  std::uint32_t whole_device = 0;
  std::uint32_t binding_count = 0;  // at most one
};

/// An operation that was refused before it became a command. Followed by Binding[binding_count]:
/// what it should have written.
struct FailCommand {
  static constexpr CommandKind kind = CommandKind::fail;
  CommandHeader header;
  ErrorId error = 0;
  std::uint32_t binding_count = 0;
};

struct FlushCommand {
  static constexpr CommandKind kind = CommandKind::flush;
  CommandHeader header;
};

/// What a stream's memory is accounted under, from here on.
struct AccountCommand {
  static constexpr CommandKind kind = CommandKind::account;
  enum class Change : std::uint32_t { open_persistent, close_persistent, set_cap };
  CommandHeader header;
  Change change = Change::open_persistent;
  std::uint64_t bytes = 0;  // of a cap; 0: none
};

/// In the ring in place of a command too large for it; owned by the executor once popped.
struct SpilledCommand {
  static constexpr CommandKind kind = CommandKind::spilled;
  CommandHeader header;
  std::byte* block = nullptr;  // from new std::byte[]
};

template <class C>
const C& as(const CommandHeader& header) {
  static_assert(std::is_trivially_copyable_v<C> && std::is_standard_layout_v<C>);
  return reinterpret_cast<const C&>(header);
}

/// The bindings that follow a command's fixed part.
template <class C>
std::span<const Binding> bindings_of(const C& command) {
  return {reinterpret_cast<const Binding*>(&command + 1), command.binding_count};
}
inline std::span<const std::uint64_t> parameters_of(const LaunchCommand& command) {
  const auto bindings = bindings_of(command);
  return {reinterpret_cast<const std::uint64_t*>(bindings.data() + bindings.size()),
          command.parameter_count};
}

}  // namespace tessera::server
