// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/ordering/ordering.hpp"

#include <algorithm>

#include "server/defects.hpp"

namespace tessera::server {

Ordering::Ordering(driver::Driver& driver, Memory& memory, std::size_t queues)
    : driver_(driver), memory_(memory), clocks_(queues), submitted_(queues, 0) {}

// A block that was given back may have been split or joined since: whatever blocks hold the bytes
// now carry their records.
template <class F>
void Ordering::each_block(const Touch& touch, F&& f) {
  const std::uint64_t end = touch.region.offset + touch.region.bytes;
  if (touch.block != nullptr) {
    f(*touch.block, touch.region.offset, end);
    return;
  }
  for (Block* b = memory_.at(touch.region.page, touch.region.offset);
       b != nullptr && b->offset < end; b = b->after) {
    f(*b, std::max(b->offset, touch.region.offset), std::min(b->offset + b->bytes, end));
  }
}

Status Ordering::before(QueueId queue, std::span<const Touch> touches) {
  if (clocks_.queues() == 1) return {};
  needed_.clear();
  for (const Touch& touch : touches) {
    each_block(touch, [&](Block& b, std::uint64_t begin, std::uint64_t end) {
      if (touch.writes) {
        b.record.before_write(begin, end, needed_);
      } else {
        b.record.before_read(begin, end, needed_);
      }
    });
  }
  for (const Point p : needed_) {
    if (clocks_.ordered(queue, p) || defect(Defect::drop_wait)) continue;
    if (driver_.completed(p.queue) < p.ticket) {
      // A wait for work that nobody started would never end.
      if (Status s = submitted_[p.queue] < p.ticket ? submit(p.queue) : Status(); !s) return s;
      if (Status s = driver_.wait(queue, p.queue, p.ticket); !s) return s;
      ++waits_;
    }
    clocks_.joined(queue, p);
  }
  return {};
}

void Ordering::after(QueueId queue, Ticket ticket, std::span<const Touch> touches) {
  clocks_.issued(queue, ticket);
  if (clocks_.queues() == 1) return;
  for (const Touch& touch : touches) {
    if (defect(Defect::forget_read) && !touch.writes) continue;
    each_block(touch, [&](Block& b, std::uint64_t begin, std::uint64_t end) {
      if (touch.writes) {
        b.record.note_write(begin, end, {queue, ticket});
      } else {
        b.record.note_read(begin, end, {queue, ticket});
      }
    });
  }
}

Status Ordering::submit(QueueId queue) {
  if (submitted_[queue] == clocks_.last(queue)) return {};
  if (Status s = driver_.submit(queue); !s) return s;  // nothing was started; the next one tries
  submitted_[queue] = clocks_.last(queue);
  return {};
}

Status Ordering::submit_all() {
  Status first;
  for (std::size_t q = 0; q < clocks_.queues(); ++q) {
    if (Status s = submit(static_cast<QueueId>(q)); !s && first) first = s;
  }
  return first;
}

std::vector<Point> Ordering::horizon(Point point) const {
  const Clock clock = clocks_.at(point);
  std::vector<Point> points;
  for (std::size_t q = 0; q < clock.size(); ++q) {
    if (clock[q] > 0) points.push_back({static_cast<QueueId>(q), clock[q]});
  }
  return points;
}

std::vector<Point> Ordering::horizon_of(std::span<const Touch> touches) {
  if (clocks_.queues() == 1) return horizon_of_all();
  PointSet named, all;
  for (const Touch& touch : touches) {
    each_block(touch, [&](Block& b, std::uint64_t begin, std::uint64_t end) {
      b.record.before_write(begin, end, named);
    });
  }
  for (const Point p : named) {
    for (const Point q : horizon(p)) all.insert(q);
  }
  return {all.begin(), all.end()};
}

std::vector<Point> Ordering::horizon_of_all() const {
  std::vector<Point> points;
  for (std::size_t q = 0; q < clocks_.queues(); ++q) {
    const Ticket last = clocks_.last(static_cast<QueueId>(q));
    if (last > 0) points.push_back({static_cast<QueueId>(q), last});
  }
  return points;
}

void Ordering::forget_completed() {
  for (std::size_t q = 0; q < clocks_.queues(); ++q) {
    clocks_.completed(static_cast<QueueId>(q), driver_.completed(static_cast<QueueId>(q)));
  }
}

}  // namespace tessera::server
