// SPDX-License-Identifier: MIT OR Apache-2.0
// What the pools have in common.
//
// Placement depends on the order of take() and give_back() alone. A block may be handed out while
// its last owner's operations still run: its record, inherited through split and coalesce, sees to
// the waiting. Nothing here walks over pages or blocks but release_free(), report() and
// for_each_taken().
#pragma once

#include <cstdint>
#include <functional>

#include "server/memory/page_store.hpp"
#include "tessera/memory.hpp"

namespace tessera::server {

class Pool {
 public:
  // What a pool takes never changes; values, so that routing calls nothing.
  struct Accepts {
    std::uint64_t up_to = 0;
    std::uint64_t from = 1, to = 0;  // and these; none as it stands
  };
  Pool(PageStore& store, std::uint64_t alignment, Accepts accepts)
      : store_(store), alignment_(alignment), accepts_(accepts) {}
  virtual ~Pool() = default;  // its pages stay with the store
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Whether a request of so many bytes (not padded, > 0) is this pool's kind.
  bool accepts(std::uint64_t bytes) const noexcept {
    return bytes <= accepts_.up_to || (bytes >= accepts_.from && bytes <= accepts_.to);
  }
  std::uint64_t largest() const noexcept {
    return accepts_.to > accepts_.up_to ? accepts_.to : accepts_.up_to;
  }
  /// A block of at least `bytes`, its `requested` set. Null where the pool's own capacity is
  /// reached; otherwise the driver's error.
  virtual Result<Block*> take(std::uint64_t bytes, Mapping mapping) = 0;
  virtual void give_back(Block* block) = 0;
  /// So many of the bytes that a taken block was asked for count as padding.
  virtual void count_as_padding(Block& block, std::uint64_t bytes) = 0;
  /// Retires every wholly free page. Returns their bytes.
  virtual std::uint64_t release_free() = 0;
  /// Serves no more requests: pages are retired as they become free.
  virtual void drain() = 0;
  virtual PoolReport report() const = 0;
  /// Whether nothing is taken. A pool that drains has no pages then.
  virtual bool empty() const noexcept = 0;
  /// Lets the marks of the report start again from what there is now.
  virtual void restart_peaks() = 0;
  virtual void for_each_taken(const std::function<void(Block&)>& f) = 0;
  /// Bytes that all its pages may have; 0: no limit.
  virtual std::uint64_t capacity() const noexcept { return 0; }

 protected:
  std::uint64_t padded(std::uint64_t bytes) const noexcept {
    return (bytes + alignment_ - 1) & ~(alignment_ - 1);
  }
  PageStore& store_;
  const std::uint64_t alignment_;  // a power of two
  const Accepts accepts_;
};

}  // namespace tessera::server
