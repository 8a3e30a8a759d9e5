// SPDX-License-Identifier: MIT OR Apache-2.0
// Pages of the simulator: their bytes, which of them were written, and who uses them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

#include "driver/sim/sim_accesses.hpp"

namespace tessera::driver {

class Page {
 public:
  /// Null where the host itself has no memory. `poisoned`: filled with 0xCD; `tracked`: keeps a
  /// flag per byte, nonzero where written.
  static std::shared_ptr<Page> make(PageId id, PageKind kind, std::uint64_t bytes, bool poisoned,
                                    bool tracked);

  std::span<std::byte> bytes(const Region& r) { return {data_.get() + r.offset, r.bytes}; }
  /// Empty where not tracked.
  std::span<std::uint8_t> flags(const Region& r) {
    if (flags_ == nullptr) return {};
    return {flags_.get() + r.offset, r.bytes};
  }

  const PageId id;
  const PageKind kind;
  const std::uint64_t size;
  AccessMap accesses;
  Clock users;  // by queue, the last operation that names the page

 private:
  Page(PageId i, PageKind k, std::uint64_t n) : id(i), kind(k), size(n) {}
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte[], Free> data_;
  std::unique_ptr<std::uint8_t[], Free> flags_;
};

}  // namespace tessera::driver
