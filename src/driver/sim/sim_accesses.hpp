// SPDX-License-Identifier: MIT OR Apache-2.0
// Happens-before for the bytes of one page.
//
// Every operation carries a vector clock: per queue, the last ticket that is known to come before
// it. Operations are looked at in the order in which they run, so of two that touch the same bytes
// only the later one's clock decides: it must hold the earlier one's ticket. Remembering the last
// write and, per queue, the last read since is enough: what they replaced is ordered before them
// or was reported already.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "driver/driver.hpp"

namespace tessera::driver {

struct OpId {
  QueueId queue = 0;
  Ticket ticket = 0;  // 0: none
  friend bool operator==(OpId, OpId) = default;
};

using Clock = std::vector<Ticket>;  // by queue

/// Componentwise maximum.
void join(Clock& clock, const Clock& other);

class AccessMap {
 public:
  struct Clash {
    OpId other;
    bool other_writes;
    std::uint64_t begin, end;  // the bytes
  };
  /// Records an access to [begin, end) by `op`, whose clock includes itself. Gives the first
  /// earlier access that conflicts and is not ordered before it.
  std::optional<Clash> touch(std::uint64_t begin, std::uint64_t end, bool writes, OpId op,
                             const Clock& clock);

 private:
  struct Segment {
    std::uint64_t end = 0;
    OpId write;
    std::vector<Ticket> reads;  // by queue; empty: none
  };
  using Map = std::map<std::uint64_t, Segment>;  // by begin; disjoint
  void split(std::uint64_t at);
  void fill_gaps(std::uint64_t begin, std::uint64_t end);
  void merge(std::uint64_t begin, std::uint64_t end);

  Map segments_;
};

}  // namespace tessera::driver
