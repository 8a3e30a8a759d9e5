// SPDX-License-Identifier: MIT OR Apache-2.0
// A logical order of work.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "tessera/result.hpp"

namespace tessera::inline v0 {

namespace detail {
class DeviceCore;
}

/// No deadline: wait as long as it takes.
using Deadline = std::optional<std::chrono::nanoseconds>;

/// A value: device and number. Work issued on one stream runs in the order of the calls; work of
/// different streams runs in any order that no buffer forbids: whoever reads bytes waits, on the
/// device, for whoever wrote them, on any stream. There is nothing to destroy. Thread-safe.
class Stream {
 public:
  std::uint64_t id() const noexcept { return id_; }

  /// Waits until everything issued on this stream before the call has run. The error is the
  /// earliest failure recorded on any live buffer that this stream wrote; it consumes nothing.
  /// Timeout if the deadline passes first.
  Status sync(Deadline deadline = {}) const;
  /// The same without waiting: what is known now, not a verdict on work in flight.
  Status status() const;
  /// Starts everything issued so far. Reports nothing of queued work.
  void flush() const;
  /// Most bytes, padding included, that buffers made on this stream may hold at a time; 0: no cap.
  /// A request over it is OutOfMemory, recorded on the buffer. From here on, in the order of calls.
  void cap_memory(std::uint64_t bytes) const;

  // For the library.
  Stream(std::shared_ptr<detail::DeviceCore> device, std::uint64_t id) noexcept
      : device_(std::move(device)), id_(id) {}
  const std::shared_ptr<detail::DeviceCore>& core() const noexcept { return device_; }

 private:
  std::shared_ptr<detail::DeviceCore> device_;
  std::uint64_t id_;
};

/// While it lives, calls of this thread that name no stream go to this one instead of the default,
/// on the stream's device alone. Scopes nest and end in the reverse order of their making.
class StreamScope {
 public:
  explicit StreamScope(Stream stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  Stream stream_;
};

}  // namespace tessera::inline v0
