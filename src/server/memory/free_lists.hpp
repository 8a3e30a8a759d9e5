// SPDX-License-Identifier: MIT OR Apache-2.0
// Free blocks by size: 8 lists for each power of two and a bit map over the lists, so that filing,
// finding and removing cost the same whatever their number. A list hands out what came last.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "server/memory/block.hpp"

namespace tessera::server {

class FreeLists {
 public:
  static constexpr int parts = 8, count = 48 * parts;

  /// Sizes filed are multiples of `unit`, a power of two.
  explicit FreeLists(std::uint64_t unit) : shift_(std::countr_zero(unit)) {}

  /// The list whose blocks have [its lower bound, the next list's lower bound) bytes.
  int list_of(std::uint64_t bytes) const noexcept {
    const std::uint64_t units = bytes >> shift_;
    if (units < parts) return static_cast<int>(units);
    const int level = 63 - std::countl_zero(units);  // >= 3
    return (level - 2) * parts + static_cast<int>((units >> (level - 3)) & 7);
  }
  Block* first(int list) const noexcept { return lists_[static_cast<std::size_t>(list)]; }
  /// The first list from `list` on that holds a block; `count` where none does.
  int filled_from(int list) const noexcept {
    if (list >= count) return count;
    std::size_t word = static_cast<std::size_t>(list) / 64;
    std::uint64_t bits = filled_[word] & (~std::uint64_t{0} << (list % 64));
    while (bits == 0) {
      if (++word == filled_.size()) return count;
      bits = filled_[word];
    }
    return static_cast<int>(word) * 64 + std::countr_zero(bits);
  }

  /// A block of at least `bytes`, or null. It stays filed. Looks from the first list on of which
  /// every block is large enough, and before that at the head of the list where `bytes` itself
  /// would be filed, so that a block of the very size is not passed over for a larger one.
  Block* find(std::uint64_t bytes) const noexcept {
    const int own = list_of(bytes);
    if (Block* head = first(own); head != nullptr && head->bytes >= bytes) return head;
    const int list = filled_from(own + 1);
    return list < count ? first(list) : nullptr;
  }
  void link(Block* block) noexcept {
    const auto list = static_cast<std::size_t>(list_of(block->bytes));
    block->previous = nullptr;
    block->next = lists_[list];
    if (block->next != nullptr) block->next->previous = block;
    lists_[list] = block;
    filled_[list / 64] |= std::uint64_t{1} << (list % 64);
  }
  void unlink(Block* block) noexcept {
    if (block->previous != nullptr) {
      block->previous->next = block->next;
    } else {
      const auto list = static_cast<std::size_t>(list_of(block->bytes));
      lists_[list] = block->next;
      if (block->next == nullptr) filled_[list / 64] &= ~(std::uint64_t{1} << (list % 64));
    }
    if (block->next != nullptr) block->next->previous = block->previous;
    block->next = block->previous = nullptr;
  }

 private:
  int shift_;
  std::array<Block*, count> lists_{};
  std::array<std::uint64_t, count / 64> filled_{};
};

}  // namespace tessera::server
