// SPDX-License-Identifier: MIT OR Apache-2.0
// A span in which buffers are made to stay.
#pragma once

#include <utility>

#include "tessera/stream.hpp"

namespace tessera::inline v0 {

/// Made by Device::persistent(); ends with its destruction, in the order of the stream's calls.
class [[nodiscard]] PersistentScope {
 public:
  explicit PersistentScope(Stream stream);
  PersistentScope(PersistentScope&& other) noexcept
      : stream_(std::move(other.stream_)), open_(std::exchange(other.open_, false)) {}
  PersistentScope& operator=(PersistentScope&&) = delete;
  ~PersistentScope();

 private:
  Stream stream_;
  bool open_ = true;
};

}  // namespace tessera::inline v0
