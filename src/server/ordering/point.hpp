// SPDX-License-Identifier: MIT OR Apache-2.0
// A moment on a device: an operation's ticket on a queue.
#pragma once

#include <vector>

#include "driver/driver.hpp"

namespace tessera::server {

using driver::QueueId;
using driver::Ticket;

struct Point {
  QueueId queue = 0;
  Ticket ticket = 0;
  friend bool operator==(Point, Point) = default;
};

/// The latest moment of each queue that occurs in a set of moments; a later ticket of a queue
/// implies its earlier ones.
class PointSet {
 public:
  void insert(Point p) {
    for (Point& q : points_) {
      if (q.queue == p.queue) {
        if (q.ticket < p.ticket) q.ticket = p.ticket;
        return;
      }
    }
    points_.push_back(p);
  }
  void insert(const PointSet& other) {
    for (const Point p : other.points_) insert(p);
  }
  void assign(Point p) {
    points_.clear();
    points_.push_back(p);
  }
  void clear() { points_.clear(); }
  bool empty() const { return points_.empty(); }
  auto begin() const { return points_.begin(); }
  auto end() const { return points_.end(); }

 private:
  std::vector<Point> points_;
};

}  // namespace tessera::server
