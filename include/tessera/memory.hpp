// SPDX-License-Identifier: MIT OR Apache-2.0
// How a device's memory is laid out, and what it is used for.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace tessera::inline v0 {

/// Pages of one size, divided into slices. Takes requests up to max_slice bytes (0: a page) and,
/// without a capacity, those that fill at least 80 % of a page.
struct SlicedPool {
  std::uint64_t page_bytes = 0;
  std::uint64_t max_slice = 0;
  std::uint64_t capacity = 0;       // bytes of all pages; 0: as the device allows
  std::uint64_t release_every = 0;  // requests after which empty pages go; 0: when trimmed
};

/// Pages that each hold one buffer. Takes requests up to max_bytes (0: the device's largest).
struct ExclusivePool {
  std::uint64_t max_bytes = 0;
  std::uint64_t release_every = 0;  // requests after which unused pages go; 0: by max_bytes
};

/// A page of the exact size for every request, reused for that size alone. Above reclaim_at bytes
/// (0: no watermark) unused pages go before a new one is made; the request is served all the same.
struct DirectPool {
  std::uint64_t reclaim_at = 0;
};

/// Small pages for small slices, and pages whose size grows with the requests.
struct AdaptivePool {
  std::uint64_t first_page = 0;  // bytes; 0: 2 MiB
};

using PoolSpec = std::variant<SlicedPool, ExclusivePool, DirectPool, AdaptivePool>;

/// The pools of a device in the order in which a request looks for one that takes it. Sizes are
/// rounded up to the device's alignment when installed.
struct MemoryLayout {
  enum class Preset : std::uint8_t { adaptive, sub_slices, exclusive_pages, custom };
  Preset preset = Preset::adaptive;
  std::vector<PoolSpec> pools;  // of a custom layout

  static MemoryLayout adaptive() { return {}; }
  /// A ladder of sliced pools, pages from a few MiB up to the device's largest.
  static MemoryLayout sub_slices() { return {Preset::sub_slices, {}}; }
  /// One buffer a page, 24 size classes.
  static MemoryLayout exclusive_pages() { return {Preset::exclusive_pages, {}}; }
  static MemoryLayout custom(std::vector<PoolSpec> pools) {
    return {Preset::custom, std::move(pools)};
  }
};

/// What one pool holds now. Bytes.
struct PoolReport {
  std::string kind;            // "sliced", "exclusive", "direct", "persistent", …, with its sizes
  bool outdated = false;       // of an earlier layout: serves no requests, drains
  std::uint64_t live = 0;      // buffers
  std::uint64_t bytes = 0;     // that they asked for
  std::uint64_t padding = 0;   // that alignment and rounding added
  std::uint64_t reserved = 0;  // of pages
  std::uint64_t peak = 0;      // most reserved since the layout was installed
  std::uint64_t unmapped = 0;  // of `reserved`: promised and not backed by the device
  std::uint64_t pages = 0, pages_peak = 0;
  std::uint64_t largest_request = 0;
};

/// What one stream's buffers hold. A buffer counts for the stream that it was made on.
struct StreamMemory {
  std::uint64_t stream = 0;
  std::uint64_t live = 0, bytes = 0, padding = 0, peak = 0;
  std::uint64_t cap = 0;         // most bytes + padding; 0: none
  std::uint32_t persistent = 0;  // open persistent windows
};

struct MemoryReport {
  std::vector<PoolReport> pools;  // in the order of requests, then persistent, then outdated
  std::vector<StreamMemory> streams;
  std::uint64_t live = 0, bytes = 0, padding = 0;
  std::uint64_t reserved = 0, peak = 0, unmapped = 0;
  std::uint64_t retiring = 0;  // of pages given up and still in use by the device
  std::uint64_t staging = 0;   // host bytes on their way to the device
};

}  // namespace tessera::inline v0
