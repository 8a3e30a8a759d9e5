// SPDX-License-Identifier: MIT OR Apache-2.0
// Host bytes that are read later: a range and whatever keeps it alive.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tessera::base {

/// Move-only, so that bytes on their way to a device have one holder. The bytes never change while
/// they are held. Not thread-safe by itself; may be destroyed on any thread.
class Bytes {
 public:
  Bytes() noexcept = default;
  /// Bytes that `owner` keeps alive.
  Bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) noexcept
      : bytes_(bytes), owner_(std::move(owner)) {}
  /// The elements of a vector, which is moved in: nothing is copied.
  template <class T>
  explicit Bytes(std::vector<T>&& values) {
    auto owner = std::make_shared<const std::vector<T>>(std::move(values));
    bytes_ = std::as_bytes(std::span<const T>(*owner));
    owner_ = std::move(owner);
  }
  Bytes(Bytes&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})), owner_(std::move(other.owner_)) {}
  Bytes& operator=(Bytes&& other) noexcept {
    bytes_ = std::exchange(other.bytes_, {});
    owner_ = std::move(other.owner_);
    return *this;
  }

  std::span<const std::byte> span() const noexcept { return bytes_; }
  std::size_t size() const noexcept { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
};

}  // namespace tessera::base
