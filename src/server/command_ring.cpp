// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/command_ring.hpp"

#include <cstring>

namespace tessera::server {
namespace {

constexpr std::size_t cell_bytes = 64;
constexpr std::size_t spill_bytes = 1024;

std::size_t cells_for(std::size_t bytes) {
  return (bytes + cell_bytes - 1) / cell_bytes;
}

}  // namespace

CommandRing::CommandRing(std::size_t cells)
    : ring_(std::make_unique<Cell[]>(cells)), mask_(cells - 1) {}

CommandRing::~CommandRing() {
  while (front() != nullptr) pop();
}

bool CommandRing::push_locked(const void* command, std::size_t bytes) {
  const std::size_t need = cells_for(bytes);
  std::uint64_t tail = tail_.load(std::memory_order_relaxed);
  const std::size_t to_end = mask_ + 1 - (tail & mask_);
  const std::size_t skip = need > to_end ? to_end : 0;  // commands lie in one piece
  // The consumer's line is looked at only where the last look does not do.
  if (tail + skip + need - seen_head_ > mask_ + 1) {
    seen_head_ = head_.load(std::memory_order_acquire);
    if (tail + skip + need - seen_head_ > mask_ + 1) return false;
  }
  if (skip > 0) {
    CommandHeader filler;
    filler.bytes = static_cast<std::uint32_t>(skip * cell_bytes);
    std::memcpy(ring_[tail & mask_].bytes, &filler, sizeof filler);
    tail += skip;
  }
  std::memcpy(ring_[tail & mask_].bytes, command, bytes);
  positions_.fetch_add(1, std::memory_order_acq_rel);
  tail_.store(tail + need, std::memory_order_seq_cst);
  return true;
}

bool CommandRing::try_push(const CommandHeader& command) {
  if (command.bytes <= spill_bytes) {
    const std::lock_guard lock(producers_);
    return push_locked(&command, command.bytes);
  }
  auto block = std::make_unique<std::byte[]>(command.bytes);
  std::memcpy(block.get(), &command, command.bytes);
  SpilledCommand spilled;
  spilled.header = {sizeof(SpilledCommand), CommandKind::spilled, {}, command.stream, command.site};
  spilled.block = block.get();
  const std::lock_guard lock(producers_);
  if (!push_locked(&spilled, sizeof spilled)) return false;
  (void)block.release();
  return true;
}

bool CommandRing::try_claim_position() {
  const std::lock_guard lock(producers_);
  if (!empty()) return false;
  positions_.fetch_add(1, std::memory_order_acq_rel);
  return true;
}

const CommandHeader* CommandRing::front() {
  for (;;) {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    if (head == seen_tail_) {
      seen_tail_ = tail_.load(std::memory_order_acquire);
      if (head == seen_tail_) return nullptr;
    }
    const auto* header = reinterpret_cast<const CommandHeader*>(ring_[head & mask_].bytes);
    if (header->kind == CommandKind::pad) {
      head_.store(head + header->bytes / cell_bytes, std::memory_order_release);
      continue;
    }
    if (header->kind == CommandKind::spilled) {
      return reinterpret_cast<const CommandHeader*>(as<SpilledCommand>(*header).block);
    }
    return header;
  }
}

void CommandRing::pop() {
  const std::uint64_t head = head_.load(std::memory_order_relaxed);
  const auto* header = reinterpret_cast<const CommandHeader*>(ring_[head & mask_].bytes);
  if (header->kind == CommandKind::spilled) delete[] as<SpilledCommand>(*header).block;
  head_.store(head + cells_for(header->bytes), std::memory_order_release);
}

}  // namespace tessera::server
