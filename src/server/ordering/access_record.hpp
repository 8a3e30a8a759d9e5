// SPDX-License-Identifier: MIT OR Apache-2.0
// Who last wrote and who has since read the bytes of a block of a page.
//
// A record belongs to bytes, not to the buffer that lies there: when a block is given back and
// handed out again, its record stays with it (through split and coalesce), so that reuse is
// always allowed and the new owner's first write waits, on the device, for whatever the old
// owner's operations still do. At most four disjoint ranges are told apart; beyond that the
// record collapses into one range that everybody is said to have touched, which can only add
// waits.
#pragma once

#include <cstdint>
#include <vector>

#include "server/ordering/point.hpp"

namespace tessera::server {

class AccessRecord {
 public:
  static constexpr std::size_t max_ranges = 4;

  /// Adds to `out` what an operation on [begin, end) must come after: a reader after the writes,
  /// a writer after writes and reads.
  void before_read(std::uint64_t begin, std::uint64_t end, PointSet& out) const;
  void before_write(std::uint64_t begin, std::uint64_t end, PointSet& out) const;

  void note_read(std::uint64_t begin, std::uint64_t end, Point at);
  void note_write(std::uint64_t begin, std::uint64_t end, Point at);

  /// The part that concerns [begin, end).
  AccessRecord clipped(std::uint64_t begin, std::uint64_t end) const;
  /// Takes over the ranges of a neighbouring block.
  void merge(AccessRecord&& other);

  std::size_t range_count() const noexcept { return ranges_.size(); }

 private:
  struct Range {
    std::uint64_t begin, end;
    PointSet writes;  // several queues only where collapsed
    PointSet reads;
  };
  Range& isolate(std::uint64_t begin, std::uint64_t end);
  void collapse();
  std::vector<Range> ranges_;  // sorted, disjoint
};

}  // namespace tessera::server
