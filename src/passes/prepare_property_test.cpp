// SPDX-License-Identifier: MIT OR Apache-2.0
// What the passes must keep, over random programs: the result, the buffers touched, and themselves.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/interpreter.hpp"
#include "ir/op_info.hpp"
#include "ir/random_program.hpp"
#include "ir/test_kernel.hpp"
#include "ir/text.hpp"
#include "ir/verifier.hpp"
#include "passes/prepare.hpp"

namespace tessera::passes {
namespace {

constexpr std::uint64_t seeds = 300;

struct Ran {
  std::vector<std::vector<std::byte>> memory;
  ir::RunOutcome outcome;
};

std::uint64_t mixed(std::uint64_t n) {
  n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9u;
  n = (n ^ (n >> 27)) * 0x94d049bb133111ebu;
  return n ^ (n >> 31);
}

/// Runs three cubes; what is only written starts as poison. The data depends on the seed alone.
Ran run(const ir::Kernel& k, std::uint64_t seed, bool wide) {
  constexpr std::uint32_t cubes = 3;
  Ran r;
  std::vector<std::vector<std::uint8_t>> written;
  std::vector<std::uint64_t> words;
  for (std::size_t s = 0; s < k.scalars.size(); ++s) {
    // Small integers, so that both sides of a uniform condition are taken.
    words.push_back(k.scalars[s].elem == Elem::f32 ? 0x40490fdbu : mixed(seed + s) % 5);
  }
  const std::uint64_t units = cubes * k.unit_count();
  for (std::size_t b = 0; b < k.bindings.size(); ++b) {
    // Some buffers are shorter than the launch, one now and then empty.
    const std::uint64_t length = mixed(seed * 7 + b) % 3 == 0 ? mixed(seed + b) % units : units;
    words.push_back(length);
    const ir::BindingParam& p = k.bindings[b];
    std::vector<std::byte> data(length * p.type.lanes * 4, std::byte{0xA5});
    const bool read = p.declared != ir::Access::out;
    for (std::size_t i = 0; read && i + 4 <= data.size(); i += 4) {
      // Small numbers and any bits, NaN among them.
      std::uint64_t bits = mixed(seed * 1000 + b * 100 + i);
      if (bits % 2 == 0)
        bits = p.type.elem == Elem::f32 ? 0x3f800000u + (bits & 0xffffffu) : bits % 9;
      const auto low = static_cast<std::uint32_t>(bits);
      std::memcpy(data.data() + i, &low, 4);
    }
    written.emplace_back(data.size(), static_cast<std::uint8_t>(read));
    r.memory.push_back(std::move(data));
  }
  std::vector<ir::BufferView> views;
  for (std::size_t b = 0; b < r.memory.size(); ++b) views.push_back({r.memory[b], written[b]});
  ir::RunOptions options;
  options.cubes = {cubes, 1, 1};
  options.wide_index = wide;
  options.find_races = true;
  options.find_unwritten = true;
  auto outcome = ir::run(k, views, words, options);
  if (!outcome) {
    ADD_FAILURE() << outcome.error().message();
    return r;
  }
  r.outcome = *std::move(outcome);
  for (const ir::Finding& f : r.outcome.findings) ADD_FAILURE() << f.message;
  return r;
}

TEST(PrepareProperty, KeepsResultsAndIsIdempotent) {
  int faults = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const ir::Kernel before = ir::random_kernel(seed);
    const Status verified = ir::verify(before);
    ASSERT_TRUE(verified) << verified.error().message();
    ir::Kernel after = before;
    const Status done = prepare(after);
    EXPECT_TRUE(done) << done.error().message();
    if (!done) continue;

    for (const bool wide : {false, true}) {
      const Ran a = run(before, seed, wide), b = run(after, seed, wide);
      // Even the payloads of NaNs: folding and running are the same code.
      EXPECT_TRUE(a.memory == b.memory) << ir::print(before) << ir::print(after);
      ASSERT_EQ(a.outcome.fault.has_value(), b.outcome.fault.has_value()) << ir::print(before);
      if (a.outcome.fault) {
        ++faults;
        EXPECT_EQ(a.outcome.fault->index, b.outcome.fault->index);
        const ir::Site& was = before.sites.at(a.outcome.fault->site);
        const ir::Site& is = after.sites.at(b.outcome.fault->site);
        EXPECT_EQ(was.kind, is.kind);
        EXPECT_EQ(was.memory, is.memory);
        EXPECT_EQ(before.locs.at(was.loc).line, after.locs.at(is.loc).line);
      }
      EXPECT_LE(b.outcome.executed, a.outcome.executed);
      for (std::size_t i = 0; i < after.bindings.size(); ++i) {
        const int seen = static_cast<int>(b.outcome.observed[i]);
        EXPECT_EQ(seen & ~static_cast<int>(after.bindings[i].analysed), 0)
            << "binding " << i << " is used more than the analysis says\n"
            << ir::print(after);
      }
    }

    ir::Kernel again = after;
    const Status twice = prepare(again);
    EXPECT_TRUE(twice) << twice.error().message();
    EXPECT_EQ(ir::print(again), ir::print(after)) << ir::print(before);
  }
  EXPECT_GT(faults, 0) << "no program faulted, so nothing was said about faults";
}

TEST(PrepareProperty, EveryPassKeepsAKernelValid) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    ir::Kernel kernel = ir::random_kernel(seed);
    std::set<std::string> seen;
    const Status done = prepare(
        kernel,
        [](void* context, std::string_view pass, const ir::Kernel& k) {
          static_cast<std::set<std::string>*>(context)->emplace(pass);
          const Status s = ir::verify(k);
          EXPECT_TRUE(s) << pass << ": " << s.error().message();
        },
        &seen);
    EXPECT_TRUE(done) << "seed " << seed << ": " << done.error().message();
    if (!done) continue;
    EXPECT_EQ(seen, (std::set<std::string>{"bounds", "cse", "dce", "fold", "prepared", "slots",
                                           "traced"}));
  }
}

// A load that nobody needs, before a store: the variable and the store go together or not at all.
TEST(PrepareProperty, DeadLoadBeforeAStore) {
  ir::TestKernel t;
  const ir::Value one = t.constant(Elem::u32, 1);
  const ir::Value variable = t.op(detail::Opcode::slot, t.u32);
  t.op(detail::Opcode::slot_load, t.u32, {variable});
  t.op(detail::Opcode::slot_store, {}, {variable, one});
  const Status before = ir::verify(t.k);
  ASSERT_TRUE(before) << before.error().message();
  const Status done = prepare(t.k);
  EXPECT_TRUE(done) << done.error().message();
}

// What the programs hold, or the properties above say little.
TEST(PrepareProperty, ProgramsCoverTheTable) {
  std::set<detail::Opcode> used;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    for (const ir::Op& op : ir::random_kernel(seed).ops) used.insert(op.code);
  }
  for (int i = 0; i < detail::opcode_count; ++i) {
    const auto code = static_cast<detail::Opcode>(i);
    const ir::OpInfo& row = ir::info(code);
    const bool tensors = code == detail::Opcode::shape || code == detail::Opcode::stride;
    if (row.has(ir::trait_atomic) || tensors) continue;
    EXPECT_TRUE(used.contains(code)) << row.name;
  }
}

TEST(PrepareProperty, SameSeedSameProgram) {
  EXPECT_EQ(ir::print(ir::random_kernel(5)), ir::print(ir::random_kernel(5)));
  EXPECT_NE(ir::print(ir::random_kernel(5)), ir::print(ir::random_kernel(6)));
}

}  // namespace
}  // namespace tessera::passes
