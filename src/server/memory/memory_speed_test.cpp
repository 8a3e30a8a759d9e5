// SPDX-License-Identifier: MIT OR Apache-2.0
// How long a request takes. Figures of a machine, so not part of a test run: ask for them with
// --gtest_also_run_disabled_tests --gtest_filter='*MemorySpeed*'.
#include <chrono>
#include <cstdio>

#include "server/memory/memory.hpp"
#include "server/memory/memory_testing.hpp"

namespace tessera::server {
namespace {

using namespace testing;

template <class F>
void measure(const char* what, F&& f) {
  constexpr int rounds = 2'000'000;
  double best = 1e9;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < rounds; ++i) f(i);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count() / rounds);
  }
  std::printf("%-52s %6.1f ns\n", what, best);
}

TEST(MemorySpeed, DISABLED_GiveBackAndTake) {
  auto driver = sim(gib);
  Memory memory(*driver, {}, PersistentPolicy::windows);
  std::vector<Block*> held;
  for (std::uint64_t i = 0; i < 64; ++i) {
    held.push_back(memory.take(1000 + 64 * i, 0).value());
    held.push_back(memory.take(70 * kib + 64 * i, 0).value());
  }
  const auto note = [](Block* block) {
    block->record.note_write(block->offset, block->offset + block->bytes, {1, 5});
  };
  for (const std::uint64_t bytes : {std::uint64_t{1024}, 128 * kib}) {
    std::printf("%llu bytes\n", static_cast<unsigned long long>(bytes));
    Block* block = memory.take(bytes, 0).value();
    measure("give back, take", [&](int) {
      memory.give_back(block);
      block = *memory.take(bytes, 0);
    });
    note(block);
    measure("the same with a record", [&](int) {
      memory.give_back(block);
      block = *memory.take(bytes, 0);
    });
    measure("the same by two streams in turn", [&](int i) {
      memory.give_back(block);
      block = *memory.take(bytes, static_cast<StreamId>(i % 2));
    });
    memory.give_back(block);
  }
  for (Block* block : held) note(block);
  measure("one of 128 blocks, its own size again", [&](int i) {
    Block*& block = held[static_cast<std::size_t>(i * 37) % held.size()];
    const std::uint64_t bytes = block->requested;
    memory.give_back(block);
    block = *memory.take(bytes, 0);
  });
  for (const bool records : {false, true}) {
    for (Block* block : held) memory.give_back(block);
    memory.release_free();
    for (Block*& block : held) block = memory.take(5000, 0).value();
    const auto exchange = [&](int i, std::uint64_t sizes) {
      Block*& block = held[static_cast<std::size_t>(i * 37) % held.size()];
      memory.give_back(block);
      block = *memory.take(1000 + 64 * (static_cast<std::uint64_t>(i) * 2654435761u % sizes), 0);
      if (records) note(block);
    };
    std::printf("%s\n", records ? "with records" : "without records");
    measure("one of 128 blocks, one of 60 sizes", [&](int i) { exchange(i, 60); });
    measure("one of 128 blocks, one of 900 sizes", [&](int i) { exchange(i, 900); });
  }
}

}  // namespace
}  // namespace tessera::server
