// SPDX-License-Identifier: MIT OR Apache-2.0
// Finds two accesses to one cell of memory that nothing orders.
//
// Time is counted in epochs: a new one begins with every cube and at every barrier. Accesses of one
// cube in different epochs are ordered, accesses of different cubes never are, and atomics do not
// conflict with each other. Per cell and kind of access it is enough to remember the newest epoch's
// first two units and one unit of an earlier cube: whatever is forgotten is ordered before what is
// kept, or conflicts with the same accesses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/kernel.hpp"

namespace tessera::ir {

enum class Touch : std::uint8_t { read, write, atomic_read, atomic_write };

/// When and by whom memory is touched. Epochs count from 1.
struct Moment {
  std::uint32_t epoch = 0;
  std::uint32_t cube_begin = 0;  // first epoch of the cube
  std::uint16_t unit = 0;
  Value op = none;
};

class RaceTracker {
 public:
  /// `own_per_cube`: memory of one cube (shared), so accesses of other cubes are of other memory.
  RaceTracker(std::size_t cells, bool own_per_cube)
      : own_per_cube_(own_per_cube), cells_(cells), plain_(cells * 2) {}

  struct Conflict {
    Moment other;  // without cube_begin
    Touch touch;
  };
  /// Records the access; gives an earlier one that it conflicts with.
  std::optional<Conflict> touch(std::size_t cell, Touch touch, const Moment& now);

 private:
  static constexpr std::uint16_t nobody = 0xFFFF;
  struct Seen {
    std::uint32_t epoch = 0;  // 0: never
    Value op = none;
    Value second_op = none;
    std::uint32_t older_epoch = 0;  // of an earlier cube
    Value older_op = none;
    std::uint16_t unit = nobody, second = nobody, older_unit = nobody;
  };
  Seen& at(std::size_t cell, Touch touch);
  std::optional<Moment> clash(const Seen& seen, const Moment& now) const;
  void record(Seen& seen, const Moment& now) const;

  bool own_per_cube_;
  std::size_t cells_;
  std::vector<Seen> plain_;   // two a cell: read, write
  std::vector<Seen> atomic_;  // the same, made when the first atomic comes
};

}  // namespace tessera::ir
