// SPDX-License-Identifier: MIT OR Apache-2.0
// Elements in the memory of a device.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/detail/buffer_ref.hpp"
#include "tessera/elem.hpp"
#include "tessera/pending.hpp"
#include "tessera/resource.hpp"
#include "tessera/result.hpp"
#include "tessera/stream.hpp"

namespace tessera::inline v0 {

/// What a buffer can hold: the language's numbers and vectors of them; no bool, no Index.
template <class T>
concept Element =
    detail::elem_type_v<T>.elem != Elem::none && detail::elem_type_v<T>.elem != Elem::boolean &&
    detail::elem_type_v<T>.elem != Elem::index;

/// A handle on a range of device memory; copying it shares the memory, and the last handle gives
/// it back without waiting. Every member is thread-safe as far as different handles go.
///
/// Operations are issued on the device's default stream unless a stream is named. A buffer whose
/// making failed is an ordinary object: whoever reads it gets the reason.
template <Element T>
class Buffer {
 public:
  using value_type = T;

  /// An empty buffer of no device.
  Buffer() noexcept = default;
  explicit Buffer(detail::BufferRef ref) noexcept : ref_(std::move(ref)) {}

  std::uint64_t size() const noexcept { return ref_.bytes / sizeof(T); }
  bool empty() const noexcept { return ref_.bytes == 0; }

  /// Elements [begin, begin + count) as a buffer sharing the memory. A range outside gives a
  /// buffer of size 0 whose every use is InvalidArgument with the values.
  Buffer slice(std::uint64_t begin, std::uint64_t count,
               SourceLoc where = SourceLoc::current()) const {
    return Buffer(detail::slice(ref_, begin, count, sizeof(T), where));
  }

  /// The same bytes as another element type. Sizes must divide.
  template <Element U>
  Buffer<U> reinterpret(SourceLoc where = SourceLoc::current()) const {
    return Buffer<U>(detail::reinterpret(ref_, sizeof(U), where));
  }

  /// A copy in memory of its own.
  Buffer clone(SourceLoc where = SourceLoc::current()) const {
    return Buffer(detail::clone(ref_, nullptr, where));
  }

  /// A name for messages; shared by all handles of the memory.
  const Buffer& label(std::string_view name) const {
    detail::set_label(ref_, name);
    return *this;
  }

  /// What is known now about these bytes, without waiting: no verdict on work in flight.
  Status status() const { return detail::status(ref_); }

  /// Waits until everything issued so far that touches these bytes has run; errors as get() of a
  /// download. Timeout if the deadline passes first.
  Status sync(Deadline deadline = {}, SourceLoc where = SourceLoc::current()) const {
    return detail::sync(ref_, deadline, where);
  }
  /// Waits as sync(), then says where the bytes are, for code outside the library. They stay there
  /// until the Resource is gone.
  Result<Resource> resource(SourceLoc where = SourceLoc::current()) const {
    return detail::resource(ref_, where);
  }

  /// Starts reading back. The bytes are those of this point in the default stream's order.
  Pending<std::vector<T>> download(SourceLoc where = SourceLoc::current()) const {
    return Pending<std::vector<T>>(detail::download(ref_, nullptr, where));
  }
  Pending<std::vector<T>> download(const Stream& stream,
                                   SourceLoc where = SourceLoc::current()) const {
    return Pending<std::vector<T>>(detail::download(ref_, &stream, where));
  }
  /// Reads back into `to` (exactly size() elements) and waits.
  Status download_to(std::span<T> to, SourceLoc where = SourceLoc::current()) const {
    return detail::download_to(ref_, std::as_writable_bytes(to), where);
  }
  /// download() and get().
  Result<std::vector<T>> to_vector(SourceLoc where = SourceLoc::current()) const {
    return download(where).get();
  }

  /// Overwrites the first values.size() elements; copied before the call returns. More values than
  /// elements: nothing is written and the buffer fails with InvalidArgument.
  const Buffer& write(std::span<const T> values, SourceLoc where = SourceLoc::current()) const {
    detail::write(ref_, std::as_bytes(values), nullptr, where);
    return *this;
  }
  const Buffer& write(const Stream& stream, std::span<const T> values,
                      SourceLoc where = SourceLoc::current()) const {
    detail::write(ref_, std::as_bytes(values), &stream, where);
    return *this;
  }
  /// Copies all of `from` (same size, same device) over this buffer.
  const Buffer& copy_from(const Buffer& from, SourceLoc where = SourceLoc::current()) const {
    detail::copy(from.ref_, ref_, nullptr, where);
    return *this;
  }
  const Buffer& copy_from(const Stream& stream, const Buffer& from,
                          SourceLoc where = SourceLoc::current()) const {
    detail::copy(from.ref_, ref_, &stream, where);
    return *this;
  }
  /// Every element becomes `value`.
  const Buffer& fill(const T& value, SourceLoc where = SourceLoc::current()) const {
    detail::fill(ref_, std::as_bytes(std::span<const T, 1>(&value, 1)), nullptr, where);
    return *this;
  }
  const Buffer& fill(const Stream& stream, const T& value,
                     SourceLoc where = SourceLoc::current()) const {
    detail::fill(ref_, std::as_bytes(std::span<const T, 1>(&value, 1)), &stream, where);
    return *this;
  }

  // For the library.
  const detail::BufferRef& ref() const noexcept { return ref_; }

 private:
  detail::BufferRef ref_;
};

/// Reads several buffers of one device back in one call: one wait, all or none. The bytes are those
/// of this point in the stream's order.
template <Element... T>
  requires(sizeof...(T) > 1)
Pending<std::tuple<std::vector<T>...>> download(const Stream& stream, const Buffer<T>&... buffers) {
  const detail::BufferRef* refs[] = {&buffers.ref()...};
  return {detail::download(refs, &stream, SourceLoc{}), {buffers.size()...}};
}
template <Element... T>
  requires(sizeof...(T) > 1)
Pending<std::tuple<std::vector<T>...>> download(const Buffer<T>&... buffers) {
  const detail::BufferRef* refs[] = {&buffers.ref()...};
  return {detail::download(refs, nullptr, SourceLoc{}), {buffers.size()...}};
}

}  // namespace tessera::inline v0
