// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/ordering/access_record.hpp"

#include <algorithm>
#include <utility>

#include "server/defects.hpp"

namespace tessera::server {

void AccessRecord::before_read(std::uint64_t begin, std::uint64_t end, PointSet& out) const {
  for (const Range& r : ranges_) {
    if (defect(Defect::read_ignores_write)) continue;
    if (r.begin < end && begin < r.end) out.insert(r.writes);
  }
}

void AccessRecord::before_write(std::uint64_t begin, std::uint64_t end, PointSet& out) const {
  for (const Range& r : ranges_) {
    if (r.begin < end && begin < r.end) {
      out.insert(r.writes);
      if (!defect(Defect::write_ignores_reads)) out.insert(r.reads);
    }
  }
}

void AccessRecord::note_read(std::uint64_t begin, std::uint64_t end, Point at) {
  // The bytes of [begin, end) that no range covers yet have no write; the read must still be known
  // to a later writer. Covering them by splitting would cost ranges for nothing, so a read is
  // noted on every range that it overlaps, and a range is made for it only where none does.
  bool covered = false;
  for (Range& r : ranges_) {
    if (r.begin < end && begin < r.end) {
      r.reads.insert(at);
      covered = covered || (r.begin <= begin && end <= r.end);
    }
  }
  if (!covered) {
    // A partly covered read makes one range of all that it touches: coarser, never laxer.
    Range whole{begin, end, {}, {}};
    std::erase_if(ranges_, [&](const Range& r) {
      if (!(r.begin < end && begin < r.end)) return false;
      whole.begin = std::min(whole.begin, r.begin);
      whole.end = std::max(whole.end, r.end);
      whole.writes.insert(r.writes);
      whole.reads.insert(r.reads);
      return true;
    });
    whole.reads.insert(at);
    const auto place = std::find_if(ranges_.begin(), ranges_.end(),
                                    [&](const Range& r) { return r.begin > whole.begin; });
    ranges_.insert(place, std::move(whole));
    collapse();
  }
}

void AccessRecord::note_write(std::uint64_t begin, std::uint64_t end, Point at) {
  Range& r = isolate(begin, end);
  r.writes.assign(at);
  r.reads.clear();
  collapse();
}

// Makes [begin, end) a range of its own and returns it; what overlapped keeps its other bytes.
AccessRecord::Range& AccessRecord::isolate(std::uint64_t begin, std::uint64_t end) {
  for (Range& r : ranges_) {
    if (r.begin == begin && r.end == end) return r;
  }
  std::vector<Range> rest;
  rest.reserve(ranges_.size() + 2);
  for (Range& r : ranges_) {
    if (r.end <= begin || end <= r.begin) {
      rest.push_back(std::move(r));
      continue;
    }
    if (r.begin < begin) rest.push_back({r.begin, begin, r.writes, r.reads});
    if (end < r.end) rest.push_back({end, r.end, r.writes, r.reads});
  }
  ranges_ = std::move(rest);
  const auto place =
      std::find_if(ranges_.begin(), ranges_.end(), [&](const Range& r) { return r.begin >= end; });
  return *ranges_.insert(place, Range{begin, end, {}, {}});
}

void AccessRecord::collapse() {
  if (ranges_.size() <= max_ranges) return;
  Range whole = std::move(ranges_.front());
  for (std::size_t i = 1; i < ranges_.size(); ++i) {
    if (defect(Defect::collapse_loses)) break;
    whole.end = ranges_[i].end;
    whole.writes.insert(ranges_[i].writes);
    whole.reads.insert(ranges_[i].reads);
  }
  ranges_.clear();
  ranges_.push_back(std::move(whole));
}

AccessRecord AccessRecord::clipped(std::uint64_t begin, std::uint64_t end) const {
  AccessRecord part;
  for (const Range& r : ranges_) {
    if (r.begin < end && begin < r.end) {
      part.ranges_.push_back({std::max(begin, r.begin), std::min(end, r.end), r.writes, r.reads});
    }
  }
  return part;
}

void AccessRecord::merge(AccessRecord&& other) {
  for (Range& r : other.ranges_) ranges_.push_back(std::move(r));
  other.ranges_.clear();
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  collapse();
}

}  // namespace tessera::server
