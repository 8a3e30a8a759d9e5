// SPDX-License-Identifier: MIT OR Apache-2.0
// Who waits for whom: the one place where an operation is put behind the operations whose bytes it
// touches.
//
// A reader comes after the last write of its bytes, a writer after the last write and all reads
// since. Waits on the own queue, and those that earlier waits imply, are left out. A user never
// places an event; a driver never decides a wait.
#pragma once

#include <span>

#include "driver/driver.hpp"
#include "server/memory/memory.hpp"
#include "server/ordering/clocks.hpp"

namespace tessera::server {

/// Bytes of a page that an operation touches.
struct Touch {
  Block* block = nullptr;  // null: the block was given back; found by `region`
  driver::Region region;
  bool reads = false;
  bool writes = false;
};

class Ordering {
 public:
  Ordering(driver::Driver& driver, Memory& memory, std::size_t queues);

  /// Makes the next operation of `queue` come after all that `touches` requires.
  Status before(QueueId queue, std::span<const Touch> touches);
  /// That operation is `ticket`.
  void after(QueueId queue, Ticket ticket, std::span<const Touch> touches);
  /// Tells the driver to start what `queue` holds.
  Status submit(QueueId queue);
  Status submit_all();

  /// The moments that have to pass before `point` and all it comes after have: one per queue.
  std::vector<Point> horizon(Point point) const;
  std::vector<Point> horizon_of_all() const;
  /// The same for every operation that the records of these bytes name.
  std::vector<Point> horizon_of(std::span<const Touch> touches);
  Ticket last(QueueId queue) const { return clocks_.last(queue); }
  std::size_t queues() const noexcept { return clocks_.queues(); }
  void forget_completed();
  std::uint64_t waits() const noexcept { return waits_; }
  const Clocks& clocks() const noexcept { return clocks_; }

 private:
  template <class F>
  void each_block(const Touch& touch, F&& f);

  driver::Driver& driver_;
  Memory& memory_;
  Clocks clocks_;
  std::vector<Ticket> submitted_;
  PointSet needed_;  // kept for its room
  std::uint64_t waits_ = 0;
};

}  // namespace tessera::server
