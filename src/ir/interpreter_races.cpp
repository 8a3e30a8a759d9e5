// SPDX-License-Identifier: MIT OR Apache-2.0
#include "ir/interpreter_races.hpp"

namespace tessera::ir {
namespace {

constexpr bool conflicts(Touch a, Touch b) {
  const auto writes = [](Touch t) { return t == Touch::write || t == Touch::atomic_write; };
  const auto is_atomic = [](Touch t) { return t >= Touch::atomic_read; };
  return (writes(a) || writes(b)) && !(is_atomic(a) && is_atomic(b));
}

constexpr Touch all[] = {Touch::read, Touch::write, Touch::atomic_read, Touch::atomic_write};

}  // namespace

RaceTracker::Seen& RaceTracker::at(std::size_t cell, Touch touch) {
  const bool is_atomic = touch >= Touch::atomic_read;
  const bool second = touch == Touch::write || touch == Touch::atomic_write;
  return (is_atomic ? atomic_ : plain_)[cell * 2 + (second ? 1 : 0)];
}

std::optional<Moment> RaceTracker::clash(const Seen& seen, const Moment& now) const {
  if (seen.epoch == 0) return std::nullopt;
  if (seen.epoch < now.cube_begin) {
    if (own_per_cube_) return std::nullopt;
    return Moment{seen.epoch, 0, seen.unit, seen.op};
  }
  if (seen.epoch == now.epoch) {
    if (seen.unit != now.unit) return Moment{seen.epoch, 0, seen.unit, seen.op};
    if (seen.second != nobody) return Moment{seen.epoch, 0, seen.second, seen.second_op};
  }
  if (seen.older_epoch != 0) return Moment{seen.older_epoch, 0, seen.older_unit, seen.older_op};
  return std::nullopt;
}

void RaceTracker::record(Seen& seen, const Moment& now) const {
  if (seen.epoch == now.epoch) {
    if (seen.unit != now.unit && seen.second == nobody) {
      seen.second = now.unit;
      seen.second_op = now.op;
    }
    return;
  }
  if (seen.epoch != 0 && seen.epoch < now.cube_begin && !own_per_cube_) {
    seen.older_epoch = seen.epoch;
    seen.older_unit = seen.unit;
    seen.older_op = seen.op;
  }
  seen.epoch = now.epoch;
  seen.unit = now.unit;
  seen.op = now.op;
  seen.second = nobody;
}

std::optional<RaceTracker::Conflict> RaceTracker::touch(std::size_t cell, Touch touch,
                                                        const Moment& now) {
  if (touch >= Touch::atomic_read && atomic_.empty()) atomic_.resize(cells_ * 2);
  std::optional<Conflict> found;
  for (Touch kind : all) {
    if (found || !conflicts(kind, touch) || (kind >= Touch::atomic_read && atomic_.empty())) {
      continue;
    }
    if (const auto other = clash(at(cell, kind), now)) found = Conflict{*other, kind};
  }
  record(at(cell, touch), now);
  return found;
}

}  // namespace tessera::ir
