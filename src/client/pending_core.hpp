// SPDX-License-Identifier: MIT OR Apache-2.0
// A read or sync that a client waits for.
#pragma once

#include <memory>

#include "client/device_core.hpp"
#include "server/pending.hpp"
#include "tessera/pending.hpp"

namespace tessera::inline v0::detail {

class PendingCore {
 public:
  std::shared_ptr<server::PendingState> state = std::make_shared<server::PendingState>();
  std::shared_ptr<DeviceCore> device;
  std::uint64_t bytes = 0;
  bool taken = false;  // the driver's reads were consumed

  ~PendingCore();
};

PendingPtr new_pending(const BufferRef& buffer);
PendingPtr failed_pending(const Error& error);

/// Waits until the executor has seen the command, then for the device, then inspects. Timeout if
/// the deadline passes; otherwise the failure of what was waited for.
Status settle(PendingCore& pending, driver::Deadline deadline);
/// The same, with a failure of the bytes as BufferFailed.
Status pending_settle(PendingCore& pending, driver::Deadline deadline);

enum class SyncScope : std::uint8_t { stream, device, buffer };

/// Looks at the claims, waits for a stream, the whole device or all that touches `buffer`, then
/// looks at the claims once more.
Status sync(const std::shared_ptr<DeviceCore>& core, server::StreamId stream, SyncScope scope,
            Deadline deadline, SourceLoc where, const BufferRef* buffer = nullptr);

}  // namespace tessera::inline v0::detail
