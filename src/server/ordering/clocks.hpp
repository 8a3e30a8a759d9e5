// SPDX-License-Identifier: MIT OR Apache-2.0
// What each queue is known to come after: vector clocks over queues, in tickets.
//
// clock(q)[p] is the last ticket of queue p that every later operation of q comes after. A wait of
// q for (p, t) joins what p knew when it issued t, not what it knows now: p may have waited for
// more since, and counting that would leave out a wait that is needed.
#pragma once

#include <deque>
#include <vector>

#include "server/ordering/point.hpp"

namespace tessera::server {

using Clock = std::vector<Ticket>;  // by queue

class Clocks {
 public:
  explicit Clocks(std::size_t queues);

  std::size_t queues() const noexcept { return now_.size(); }
  const Clock& now(QueueId queue) const { return now_[queue]; }
  Ticket last(QueueId queue) const { return now_[queue][queue]; }

  /// Whether the next operation of `queue` comes after `point` without a further wait.
  bool ordered(QueueId queue, Point point) const {
    return now_[queue][point.queue] >= point.ticket;
  }
  /// `queue` was made to wait for `point`.
  void joined(QueueId queue, Point point);
  /// `queue` issued `ticket`, its next.
  void issued(QueueId queue, Ticket ticket) { now_[queue][queue] = ticket; }
  /// The clock of an operation: everything that has run once it has.
  Clock at(Point point) const;
  /// Adds to what is seen to have completed, by queue, whatever that came after: news of one queue
  /// may arrive before that of another on which it depends.
  void close_over(std::vector<Ticket>& completed) const;
  /// Forgets what only tickets up to `ticket` need.
  void completed(QueueId queue, Ticket ticket);

 private:
  // What a queue knew of the others, for its tickets from `first` on: kept only where it changed.
  struct Epoch {
    Ticket first;
    Clock clock;
  };
  const Epoch* epoch_of(Point point) const;
  std::vector<Clock> now_;
  std::vector<std::deque<Epoch>> epochs_;
};

}  // namespace tessera::server
