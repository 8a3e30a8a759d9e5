// SPDX-License-Identifier: MIT OR Apache-2.0
// From a layout as a user writes it to pools that a device can have.
#pragma once

#include <memory>
#include <vector>

#include "server/memory/pool.hpp"

namespace tessera::server {

struct DeviceLimits {
  std::uint64_t alignment = 64;  // of blocks
  std::uint64_t page_limit = 0;  // largest page, bytes
};

/// The pools of the layout: presets spelled out, sizes rounded up to the alignment. InvalidArgument
/// with the position in the list and the values: no pools, more than 254, a page of no bytes, a
/// slice larger than its page, a capacity smaller than a page or of more than 65 535 pages, a page
/// over the device's limit. Slices and capacities of 0 bytes mean something else.
Result<std::vector<PoolSpec>> resolve(const MemoryLayout& layout, const DeviceLimits& limits);

std::vector<std::unique_ptr<Pool>> make_pools(const std::vector<PoolSpec>& specs, PageStore& store,
                                              const DeviceLimits& limits);

}  // namespace tessera::server
