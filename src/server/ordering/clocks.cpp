// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/ordering/clocks.hpp"

#include <algorithm>

namespace tessera::server {

Clocks::Clocks(std::size_t queues) : now_(queues, Clock(queues, 0)), epochs_(queues) {
  for (auto& e : epochs_) e.push_back({0, Clock(queues, 0)});
}

void Clocks::joined(QueueId queue, Point point) {
  const Clock theirs = at(point);
  Clock& mine = now_[queue];
  for (std::size_t q = 0; q < mine.size(); ++q) {
    if (q != queue) mine[q] = std::max(mine[q], theirs[q]);
  }
  const Ticket next = mine[queue] + 1;
  if (epochs_[queue].back().first == next) {
    epochs_[queue].back().clock = mine;
  } else {
    epochs_[queue].push_back({next, mine});
  }
}

Clock Clocks::at(Point point) const {
  const auto& epochs = epochs_[point.queue];
  // The last epoch that began at or before the ticket.
  auto it = std::upper_bound(epochs.begin(), epochs.end(), point.ticket,
                             [](Ticket t, const Epoch& e) { return t < e.first; });
  Clock clock = it == epochs.begin() ? Clock(now_.size(), 0) : std::prev(it)->clock;
  clock[point.queue] = point.ticket;
  return clock;
}

void Clocks::completed(QueueId queue, Ticket ticket) {
  auto& epochs = epochs_[queue];
  while (epochs.size() > 1 && epochs[1].first <= ticket) epochs.pop_front();
}

}  // namespace tessera::server
