// SPDX-License-Identifier: MIT OR Apache-2.0
// Red zones around buffers, and poison where one was: for finding kernels that write past their
// buffers where nothing checks them, at the price of two small fills and reads a buffer.
//
// A zone is painted when the buffer gets its place and read back when it is released; what was
// found comes to the log, with the buffer's label, once the device has come so far. Nothing is
// failed for it: whose bytes those were cannot be told.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/log.hpp"
#include "server/server.hpp"

namespace tessera::server {
namespace {

constexpr std::uint64_t zone_pattern = 0xfbfbfbfbfbfbfbfb;
constexpr std::uint64_t freed_pattern = 0xddddddddddddddddu;

}  // namespace

std::uint64_t Server::zone() const noexcept {
  return config_.guard ? driver_.properties().offset_alignment : 0;
}

void Server::fill_own(const Allocation& a, std::uint64_t offset, std::uint64_t bytes,
                      std::uint64_t pattern) {
  const QueueId queue = queue_of(a.block->stream);
  const driver::Region region{a.region.page, offset, bytes};
  const Touch touched{a.block, region, false, true};
  // Where this fails, a zone is not what it should be and says so later.
  (void)own_operation(OpKind::fill, queue, a.block->stream, {&touched, 1},
                      [&] { return driver_.fill(queue, region, pattern, 8); });
}

// Parked commands may still name these bytes for an owner who is gone: then they are left alone.
void Server::paint_zones(Allocation& a) {
  a.guarded = zone() != 0 && parked_.empty() && !unparking_;
  if (!a.guarded) return;
  const std::uint64_t end = a.region.offset + a.region.bytes;
  fill_own(a, a.block->offset, zone(), zone_pattern);
  fill_own(a, end, a.block->offset + a.block->bytes - end, zone_pattern);
}

void Server::check_zones(const Allocation& a) {
  if (!a.guarded || !parked_.empty() || unparking_ || failures_.lost()) return;
  const std::uint64_t end = a.region.offset + a.region.bytes;
  const driver::Region zones[2] = {
      {a.region.page, a.block->offset, zone()},
      {a.region.page, end, a.block->offset + a.block->bytes - end},
  };
  const QueueId queue = queue_of(a.block->stream);
  ZoneCheck check;
  check.name = fmt::format("{} of {} bytes", shared_.labels.name(a.id), a.bytes);
  for (int side = 0; side < 2; ++side) {
    const Touch touched{a.block, zones[side], true, false};
    if (!ordering_.before(queue, {&touched, 1})) return;
    Result<driver::Driver::Download> read = driver_.download(queue, zones[side]);
    if (!read) return;
    ordering_.after(queue, read->ticket, {&touched, 1});
    check.reads[side] = read->read;
    check.bytes[side] = zones[side].bytes;
    check.at = {queue, read->ticket};
  }
  zone_checks_.push_back(std::move(check));
  fill_own(a, a.region.offset, a.region.bytes, freed_pattern);
}

void Server::read_zones() {
  std::erase_if(zone_checks_, [&](const ZoneCheck& check) {
    if (driver_.completed(check.at.queue) < check.at.ticket) return false;
    constexpr std::array<std::string_view, 2> sides{"before", "behind"};
    for (int side = 0; side < 2; ++side) {
      std::vector<std::byte> bytes(check.bytes[side]);
      if (!driver_.take_read(check.reads[side], bytes)) continue;
      const auto wrong = std::find_if(bytes.begin(), bytes.end(),
                                      [](std::byte b) { return b != std::byte{0xfb}; });
      if (wrong == bytes.end()) continue;
      ++damaged_zones_;
      base::log(base::LogLevel::error,
                fmt::format("The bytes {} {} were overwritten while it lived, first {} bytes {} "
                            "of it: a kernel without checks wrote past a buffer.",
                            sides[side], check.name,
                            side == 0 ? bytes.end() - wrong : wrong - bytes.begin(),
                            side == 0 ? "ahead" : "past the end"));
    }
    return true;
  });
}

}  // namespace tessera::server
