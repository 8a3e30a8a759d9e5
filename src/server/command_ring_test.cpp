// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/command_ring.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "server/command_writer.hpp"

namespace tessera::server {
namespace {

// A read command of `bindings` bindings that carries its number.
void fill(CommandWriter<ReadCommand>& c, std::uint32_t number, std::uint32_t bindings) {
  c->pending = number;
  c->binding_count = bindings;
  for (std::uint32_t i = 0; i < bindings; ++i) c.bindings()[i].offset = number + i;
}

TEST(CommandRing, KeepsOrderAcrossWrapsAndSpills) {
  CommandRing ring(64);
  std::uint32_t pushed = 0, popped = 0;
  while (popped < 3000) {
    for (;;) {
      const std::uint32_t bindings = pushed * 7 % 50;  // up to more than 1 KiB
      CommandWriter<ReadCommand> c(5, {}, bindings);
      fill(c, pushed, bindings);
      if (!ring.try_push(c.header())) break;
      ++pushed;
    }
    for (int i = 0; i < 3; ++i) {
      const CommandHeader* front = ring.front();
      if (front == nullptr) break;
      const auto& read = as<ReadCommand>(*front);
      ASSERT_EQ(read.pending, popped);
      for (const Binding& b : bindings_of(read)) {
        ASSERT_GE(b.offset, popped);
      }
      ring.pop();
      ++popped;
    }
  }
  EXPECT_EQ(ring.positions(), pushed);
}

TEST(CommandRing, ManyProducersLoseNothing) {
  CommandRing ring(128);
  constexpr std::uint32_t each = 3000, producers = 3;
  std::vector<std::thread> threads;
  for (std::uint32_t p = 0; p < producers; ++p) {
    threads.emplace_back([&ring, p] {
      for (std::uint32_t i = 0; i < each; ++i) {
        CommandWriter<ReadCommand> c(p, {}, 2);
        fill(c, i, 2);
        while (!ring.try_push(c.header())) std::this_thread::yield();
      }
    });
  }
  std::vector<std::uint32_t> next(producers, 0);
  for (std::uint32_t total = 0; total < producers * each;) {
    const CommandHeader* front = ring.front();
    if (front == nullptr) continue;
    ASSERT_EQ(as<ReadCommand>(*front).pending, next[front->stream]++);
    ring.pop();
    ++total;
  }
  for (std::thread& t : threads) t.join();
}

TEST(CommandRing, AClaimedPositionCountsAndNeedsAnEmptyRing) {
  CommandRing ring(64);
  EXPECT_TRUE(ring.try_claim_position());
  EXPECT_EQ(ring.positions(), 1u);
  CommandWriter<FlushCommand> c(0, {});
  ASSERT_TRUE(ring.try_push(c.header()));
  EXPECT_FALSE(ring.try_claim_position());
}

}  // namespace
}  // namespace tessera::server
