// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tessera/resource.hpp"

#include <fmt/format.h>

#include "client/device_core.hpp"

namespace tessera::inline v0::detail {
namespace {

// The pin goes with the last copy; the buffer that it holds may then move or go.
struct Hold {
  explicit Hold(const BufferRef& b) : buffer(b) {}
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() {
    DeviceCore& core = *buffer.allocation->device;
    if (!pinned || !core.is_open()) return;
    (void)core.executor().ask([&](server::Server& server) {
      server.unpin(buffer.allocation->id);
      return true;
    });
  }
  BufferRef buffer;
  bool pinned = false;
};

}  // namespace

Result<Resource> resource(const BufferRef& buffer, SourceLoc where) {
  if (Status ready = sync(buffer, std::nullopt, where); !ready) return ready.error();
  DeviceCore& core = *buffer.allocation->device;
  auto hold = std::make_shared<Hold>(buffer);
  struct Place {
    driver::Region region;
    std::uint64_t native = 0;
  };
  const std::optional<Place> place = core.executor().ask([&](server::Server& server) {
    Place p{server.place(binding_of(buffer, server::Access::inout)), 0};
    hold->pinned = server.pin(buffer.allocation->id);
    if (hold->pinned) p.native = core.driver().native(p.region.page);
    return p;
  });
  if (!place) return core.closed();
  if (!hold->pinned) {
    return Error(ErrorKind::InvalidArgument,
                 fmt::format("A buffer of {} bytes has no place in the memory of {}.", buffer.bytes,
                             core.device().name),
                 where);
  }
  return Resource(place->native, place->region.offset, buffer.bytes, std::move(hold));
}

}  // namespace tessera::inline v0::detail
