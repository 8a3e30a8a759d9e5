// SPDX-License-Identifier: MIT OR Apache-2.0
// Programs of the fault campaign: what clients could have called, as plain data, so that a failing
// one can be cut down operation by operation and written out.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::campaign {

inline constexpr int buffer_slots = 8;
inline constexpr std::uint32_t layouts = 4;

enum class OpKind : std::uint8_t {
  alloc,           // r[0].slot := r[0].count elements on the stream
  drop,            // r[0].slot
  upload,          // r[0], of value, value + 1, …
  upload_count,    // r[0].slot: three elements at r[0].begin: a cube count of value
  fill,            // r[0] := value
  copy,            // r[0] to r[1]
  launch,          // kernel over r[0] …
  launch_dynamic,  // kernel over r[0] …, its count at r[3]
  read,            // `value` ranges r[0] …, as one pending
  settle,          // the oldest pending that is left
  sync,            // value 0: the stream, 1: the device
  status,          // r[0]
  refuse,          // a refused argument: r[0] should have been written
  flush,
  idle,
  drain,    // lets the executor take `value` commands
  compile,  // one kernel becomes ready
  trim,
  install,  // layout number `value`: what lives in the old one is moved by the next trim
  window,   // value 1: opens a persistent window of the stream, 0: closes one
};
std::string_view to_string(OpKind kind);

/// Elements [begin, begin + count) of the buffer in a slot.
struct Range {
  std::uint8_t slot = 0;
  std::uint16_t begin = 0, count = 0;
};

struct Op {
  OpKind kind{};
  std::uint8_t stream = 0;
  std::uint8_t kernel = 0;
  std::array<Range, 4> r{};
  std::uint32_t value = 0;
};

/// What the device and the server are like, and what goes wrong.
struct Setting {
  std::uint64_t seed = 1;
  std::uint32_t queues = 3;
  std::uint32_t submit_every = 4;
  std::uint64_t memory_limit = std::uint64_t{1} << 24;
  bool late_news = false;
  bool one_access_per_page = false;
  bool guard = false;
  std::uint32_t drain_chance = 70;             // per cent: after each call the executor catches up
  std::uint32_t fail = 0, late = 0, lose = 0;  // of 10 000 driver calls
};

struct Program {
  Setting setting;
  std::vector<Op> ops;
};

/// The same seed gives the same program, on every machine.
Program generate(std::uint64_t seed);
/// One operation a line, for people.
std::string describe(const Op& op, std::size_t index);

}  // namespace tessera::campaign
