// SPDX-License-Identifier: MIT OR Apache-2.0
// Which stream a call goes to that names none.
#pragma once

#include "client/device_core.hpp"
#include "tessera/stream.hpp"

namespace tessera::inline v0::detail {

/// The innermost StreamScope of this thread on the device, else the thread's own stream where the
/// device has such, else 0.
server::StreamId default_stream(DeviceCore& core);

/// The stream named, else the default.
inline server::StreamId stream_id(DeviceCore& core, const Stream* stream) {
  return stream != nullptr ? stream->id() : default_stream(core);
}

}  // namespace tessera::inline v0::detail
