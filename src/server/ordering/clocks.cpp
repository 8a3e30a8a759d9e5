// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/ordering/clocks.hpp"

#include <algorithm>

#include "server/defects.hpp"

namespace tessera::server {

Clocks::Clocks(std::size_t queues) : now_(queues, Clock(queues, 0)), epochs_(queues) {
  for (auto& e : epochs_) e.push_back({0, Clock(queues, 0)});
}

void Clocks::joined(QueueId queue, Point point) {
  const Clock theirs = defect(Defect::join_present_clock) ? now_[point.queue] : at(point);
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

// The last epoch that began at or before the ticket.
const Clocks::Epoch* Clocks::epoch_of(Point point) const {
  const auto& epochs = epochs_[point.queue];
  const auto it = std::upper_bound(epochs.begin(), epochs.end(), point.ticket,
                                   [](Ticket t, const Epoch& e) { return t < e.first; });
  return it == epochs.begin() ? nullptr : &*std::prev(it);
}

// One round is enough: an operation's clock holds what those before it knew.
void Clocks::close_over(std::vector<Ticket>& completed) const {
  if (now_.size() == 1) return;
  for (std::size_t q = 0; q < now_.size(); ++q) {
    const Epoch* epoch = epoch_of({static_cast<QueueId>(q), completed[q]});
    if (epoch == nullptr) continue;
    for (std::size_t p = 0; p < now_.size(); ++p) {
      completed[p] = std::max(completed[p], epoch->clock[p]);
    }
  }
}

Clock Clocks::at(Point point) const {
  const Epoch* epoch = epoch_of(point);
  Clock clock = epoch == nullptr ? Clock(now_.size(), 0) : epoch->clock;
  clock[point.queue] = point.ticket;
  return clock;
}

void Clocks::completed(QueueId queue, Ticket ticket) {
  auto& epochs = epochs_[queue];
  while (epochs.size() > 1 && epochs[1].first <= ticket) epochs.pop_front();
}

}  // namespace tessera::server
