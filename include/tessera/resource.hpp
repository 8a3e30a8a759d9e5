// SPDX-License-Identifier: MIT OR Apache-2.0
// Device memory for code outside the library.
#pragma once

#include <cstdint>
#include <memory>

#include "tessera/detail/buffer_ref.hpp"
#include "tessera/result.hpp"

namespace tessera::inline v0 {

/// Where the bytes of a buffer are. While it lives the buffer lives too and stays in its place; the
/// library's own work on these bytes is ordered among itself alone, so whoever touches them from
/// outside sees to it that none is issued meanwhile. Copies share the hold.
class Resource {
 public:
  /// Of the page that the bytes are in: a WGPUBuffer (webgpu), an address (cpu, sim).
  std::uint64_t native() const noexcept { return native_; }
  /// Of the first byte in the page.
  std::uint64_t offset() const noexcept { return offset_; }
  std::uint64_t bytes() const noexcept { return bytes_; }

  // For the library.
  Resource(std::uint64_t native, std::uint64_t offset, std::uint64_t bytes,
           std::shared_ptr<const void> hold) noexcept
      : native_(native), offset_(offset), bytes_(bytes), hold_(std::move(hold)) {}

 private:
  std::uint64_t native_, offset_, bytes_;
  std::shared_ptr<const void> hold_;
};

namespace detail {
Result<Resource> resource(const BufferRef& buffer, SourceLoc where);
}  // namespace detail

}  // namespace tessera::inline v0
