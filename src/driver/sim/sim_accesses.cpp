// SPDX-License-Identifier: MIT OR Apache-2.0
#include "driver/sim/sim_accesses.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tessera::driver {

void join(Clock& clock, const Clock& other) {
  for (std::size_t q = 0; q < clock.size() && q < other.size(); ++q) {
    clock[q] = std::max(clock[q], other[q]);
  }
}

void AccessMap::split(std::uint64_t at) {
  auto it = segments_.upper_bound(at);
  if (it == segments_.begin()) return;
  --it;
  if (it->first == at || it->second.end <= at) return;
  Segment right = it->second;
  it->second.end = at;
  segments_.emplace_hint(std::next(it), at, std::move(right));
}

void AccessMap::fill_gaps(std::uint64_t begin, std::uint64_t end) {
  auto it = segments_.lower_bound(begin);
  while (begin < end) {
    if (it == segments_.end() || it->first >= end) {
      segments_.emplace_hint(it, begin, Segment{end, {}, {}});
      return;
    }
    if (begin < it->first) segments_.emplace_hint(it, begin, Segment{it->first, {}, {}});
    begin = it->second.end;
    ++it;
  }
}

void AccessMap::merge(std::uint64_t begin, std::uint64_t end) {
  auto it = segments_.lower_bound(begin);
  if (it != segments_.begin()) --it;
  while (it != segments_.end() && it->first <= end) {
    const auto next = std::next(it);
    if (next == segments_.end()) return;
    if (next->first == it->second.end && next->second.write == it->second.write &&
        next->second.reads == it->second.reads) {
      it->second.end = next->second.end;
      segments_.erase(next);
    } else {
      it = next;
    }
  }
}

std::optional<AccessMap::Clash> AccessMap::touch(std::uint64_t begin, std::uint64_t end,
                                                 bool writes, OpId op, const Clock& clock) {
  split(begin);
  split(end);
  fill_gaps(begin, end);
  std::optional<Clash> clash;
  const auto first = segments_.lower_bound(begin), last = segments_.lower_bound(end);
  for (auto it = first; it != last; ++it) {
    Segment& segment = it->second;
    const OpId w = segment.write;
    if (!clash && w.ticket > clock[w.queue]) clash = Clash{w, true, it->first, segment.end};
    if (writes) {
      for (std::size_t q = 0; q < segment.reads.size(); ++q) {
        if (!clash && segment.reads[q] > clock[q]) {
          clash = Clash{{static_cast<QueueId>(q), segment.reads[q]}, false, it->first, segment.end};
        }
      }
    } else {
      segment.reads.resize(clock.size());
      segment.reads[op.queue] = std::max(segment.reads[op.queue], op.ticket);
    }
  }
  if (writes) {
    segments_.erase(first, last);
    segments_.emplace(begin, Segment{end, op, {}});
  }
  merge(begin, end);
  return clash;
}

}  // namespace tessera::driver
