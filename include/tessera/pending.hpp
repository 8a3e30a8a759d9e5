// SPDX-License-Identifier: MIT OR Apache-2.0
// Data on its way from a device.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/result.hpp"

namespace tessera::inline v0 {

namespace detail {

/// The untyped half of Pending: one read or sync that the executor was asked for.
class PendingCore;
struct PendingDeleter {
  void operator()(PendingCore* pending) const noexcept;
};
using PendingPtr = std::unique_ptr<PendingCore, PendingDeleter>;

bool pending_ready(const PendingCore& pending);
bool pending_wait(PendingCore& pending, std::chrono::nanoseconds at_most);
std::uint64_t pending_bytes(const PendingCore& pending);
/// Waits and inspects: whether there are bytes to be had, before room for them is made.
Status pending_settle(PendingCore& pending);
/// Waits, inspects, copies out. `to` has pending_bytes() bytes.
Status pending_take(PendingCore& pending, std::span<std::byte> to);
/// The same for several buffers, in the order of the read.
Status pending_take(PendingCore& pending, std::span<const std::span<std::byte>> to);

}  // namespace detail

/// The elements of a buffer, once the device is done. ready() and wait_for() never consume; get()
/// does, once. Dropping it never blocks. One thread at a time.
template <class T>
class [[nodiscard]] Pending;

template <class T>
class [[nodiscard]] Pending<std::vector<T>> {
 public:
  explicit Pending(detail::PendingPtr core) noexcept : core_(std::move(core)) {}

  /// Whether get() would return without waiting.
  bool ready() const { return detail::pending_ready(*core_); }
  /// Waits at most so long; whether it is ready.
  bool wait_for(std::chrono::nanoseconds at_most) { return detail::pending_wait(*core_, at_most); }

  /// The elements, or BufferFailed with the root cause of why they were never written, or
  /// DeviceLost. Inspects every launch that the bytes depend on before handing them out.
  Result<std::vector<T>> get() && {
    if (Status settled = detail::pending_settle(*core_); !settled) return settled.error();
    std::vector<T> values(detail::pending_bytes(*core_) / sizeof(T));
    Status taken = detail::pending_take(*core_, std::as_writable_bytes(std::span<T>(values)));
    core_.reset();
    if (!taken) return taken.error();
    return values;
  }

 private:
  detail::PendingPtr core_;
};

/// The elements of several buffers, read by one call: all or none.
template <class... T>
class [[nodiscard]] Pending<std::tuple<std::vector<T>...>> {
 public:
  Pending(detail::PendingPtr core, std::array<std::uint64_t, sizeof...(T)> sizes) noexcept
      : core_(std::move(core)), sizes_(sizes) {}

  bool ready() const { return detail::pending_ready(*core_); }
  bool wait_for(std::chrono::nanoseconds at_most) { return detail::pending_wait(*core_, at_most); }

  /// As Pending<std::vector<T>>::get(); the error is that of the first buffer that has one.
  Result<std::tuple<std::vector<T>...>> get() && {
    if (Status settled = detail::pending_settle(*core_); !settled) return settled.error();
    return take(std::index_sequence_for<T...>());
  }

 private:
  template <std::size_t... I>
  Result<std::tuple<std::vector<T>...>> take(std::index_sequence<I...>) {
    std::tuple<std::vector<T>...> values{std::vector<T>(sizes_[I])...};
    const std::span<std::byte> bytes[] = {
        std::as_writable_bytes(std::span<T>(std::get<I>(values)))...};
    Status taken = detail::pending_take(*core_, bytes);
    core_.reset();
    if (!taken) return taken.error();
    return values;
  }

  detail::PendingPtr core_;
  std::array<std::uint64_t, sizeof...(T)> sizes_;
};

}  // namespace tessera::inline v0
