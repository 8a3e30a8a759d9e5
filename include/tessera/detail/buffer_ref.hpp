// SPDX-License-Identifier: MIT OR Apache-2.0
// The untyped half of Buffer: what the library's compiled code works on. Not for users.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "tessera/pending.hpp"
#include "tessera/result.hpp"
#include "tessera/source_loc.hpp"

namespace tessera::inline v0 {

class Stream;

namespace detail {

class DeviceCore;
struct AllocationNode;

/// Counted reference to an allocation; the last one stamps it for release and never blocks.
class AllocationPtr {
 public:
  AllocationPtr() noexcept = default;
  /// Takes over one count.
  explicit AllocationPtr(AllocationNode* node) noexcept : node_(node) {}
  AllocationPtr(const AllocationPtr& other) noexcept : node_(other.node_) { retain(); }
  AllocationPtr(AllocationPtr&& other) noexcept : node_(other.node_) { other.node_ = nullptr; }
  AllocationPtr& operator=(AllocationPtr other) noexcept {
    AllocationNode* mine = node_;
    node_ = other.node_;
    other.node_ = mine;
    return *this;
  }
  ~AllocationPtr() { drop(); }
  AllocationNode* get() const noexcept { return node_; }
  AllocationNode* operator->() const noexcept { return node_; }
  explicit operator bool() const noexcept { return node_ != nullptr; }

 private:
  void retain() const noexcept;
  void drop() noexcept;
  AllocationNode* node_ = nullptr;
};

/// A byte range of an allocation, or the reason why there is none.
struct BufferRef {
  AllocationPtr allocation;  // null: of no device
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::shared_ptr<const Error> invalid;  // set where the view itself could not be made
};

/// Rows of a pitched tensor. Of no bytes: the strides are none of such rows.
struct Rows {
  std::uint64_t bytes = 0;  // of a row
  std::uint64_t pitch = 0;  // from row to row
  std::uint64_t count = 0;
};
PendingPtr download_rows(const BufferRef& buffer, const Rows& rows, SourceLoc where);
void write_rows(const BufferRef& buffer, const Rows& rows, std::span<const std::byte> bytes,
                SourceLoc where);

BufferRef slice(const BufferRef& from, std::uint64_t begin, std::uint64_t count,
                std::uint64_t element, SourceLoc where);
BufferRef reinterpret(const BufferRef& from, std::uint64_t element, SourceLoc where);
BufferRef clone(const BufferRef& from, const Stream* stream, SourceLoc where);
void set_label(const BufferRef& buffer, std::string_view name);
Status status(const BufferRef& buffer);
PendingPtr download(const BufferRef& buffer, const Stream* stream, SourceLoc where);
/// Several in one: one wait, all of one device.
PendingPtr download(std::span<const BufferRef* const> buffers, const Stream* stream,
                    SourceLoc where);
Status sync(const BufferRef& buffer, std::optional<std::chrono::nanoseconds> deadline,
            SourceLoc where);
Status download_to(const BufferRef& buffer, std::span<std::byte> to, SourceLoc where);
void write(const BufferRef& buffer, std::span<const std::byte> bytes, const Stream* stream,
           SourceLoc where);
/// As write(), and fewer or more bytes than the buffer's are InvalidArgument, recorded.
void write_exactly(const BufferRef& buffer, std::span<const std::byte> bytes, SourceLoc where);
void copy(const BufferRef& from, const BufferRef& to, const Stream* stream, SourceLoc where);
void fill(const BufferRef& buffer, std::span<const std::byte> element, const Stream* stream,
          SourceLoc where);

/// Memory of `bytes` bytes. Never fails at once: a failure is recorded on it.
BufferRef allocate(const std::shared_ptr<DeviceCore>& device, std::uint64_t bytes, SourceLoc where);
/// `count` elements of `size` bytes; a product over 64 bits is TooLarge, recorded.
BufferRef allocate(const std::shared_ptr<DeviceCore>& device, std::uint64_t count,
                   std::uint64_t size, SourceLoc where);
/// Keeps `owner` alive until the device has read its bytes.
void write_owned(const BufferRef& buffer, std::span<const std::byte> bytes,
                 std::shared_ptr<const void> owner, SourceLoc where);

}  // namespace detail
}  // namespace tessera::inline v0
