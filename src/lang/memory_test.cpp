// SPDX-License-Identifier: MIT OR Apache-2.0
// Buffers, tensors, shared memory, atomics, checks: what they do, and where they fault.
#include "lang/test_trace.hpp"
#include "tessera/lang/dollar.hpp"

namespace tessera::lang::testing {
namespace {

constexpr u32 poison = 0xA5A5A5A5u;

void masked(In<u32> x, InOut<u32> z, Out<u32> y) {
  y[unit_pos] = x.load_or(unit_pos, 77);
  y[unit_pos + 4] = z.load_or(unit_pos, x[0]) + ex(cast<u32>(x.len()));
}
TEST(Memory, LoadOrNeverFaults) {
  Host host;
  host.in(std::vector<u32>{1, 2}).in(std::vector<u32>{5}).out<u32>(8);
  run_one(&masked, host, 4);
  EXPECT_EQ(host.get<u32>(2), (std::vector<u32>{1, 2, 77, 77, 7, 3, 3, 3}));
  const auto kernel = traced(&masked);
  ASSERT_TRUE(kernel);
  for (const ir::Op& op : kernel->ops) {
    if (op.code == detail::Opcode::load_or) {
      EXPECT_EQ(op.flags & ir::flag_checked, 0);
      EXPECT_EQ(op.site, ir::none);
    }
  }
}

void snapshots(InOut<u32> a) {
  auto old = a[0];
  a[0] = 5;
  a[1] = old;
  a[2] = a[0];
  a[3] += a[2];
  a[4] -= 1;
  a[5] *= a[5];
  a[6] <<= 2;
}
TEST(Memory, ReferencesAreSnapshots) {
  Host host;
  host.in(std::vector<u32>{1, 0, 0, 10, 3, 4, 3});
  run_one(&snapshots, host, 1);
  EXPECT_EQ(host.get<u32>(0), (std::vector<u32>{5, 1, 5, 15, 2, 16, 12}));
}

int line_of_access = 0;
void reads_outside(In<u32> x, Out<u32> y) {
  line_of_access = __LINE__ + 1;
  y[unit_pos] = x[unit_pos + 3];
}
TEST(Memory, ReadOutsideFaultsWithItsSite) {
  const auto kernel = traced(&reads_outside, {4, 1, 1});
  ASSERT_TRUE(kernel);
  Host host;
  host.in(std::vector<u32>{1, 2, 3, 4, 5}).out<u32>(4);
  const auto outcome = host.run(*kernel, {1, 1, 1});
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->index, 5u);
  const ir::Site& site = kernel->sites.at(outcome.fault->site);
  EXPECT_EQ(site.kind, ir::SiteKind::load);
  EXPECT_EQ(site.memory, (detail::MemoryRef{false, 0}));
  EXPECT_EQ(kernel->locs.at(site.loc).line, static_cast<std::uint32_t>(line_of_access));
  EXPECT_EQ(kernel->locs.at(site.loc).file, __FILE__);
  EXPECT_EQ(host.get<u32>(1)[0], 4u);
  EXPECT_EQ(host.get<u32>(1)[1], 5u);
}

void writes_outside(Out<u32> y) {
  line_of_access = __LINE__ + 1;
  y[unit_pos] = 1;
}
TEST(Memory, WriteOutsideFaultsAndStoresNothing) {
  const auto kernel = traced(&writes_outside, {4, 1, 1});
  ASSERT_TRUE(kernel);
  Host host;
  host.out<u32>(3);
  const auto outcome = host.run(*kernel, {1, 1, 1});
  ASSERT_TRUE(outcome.fault);
  const ir::Site& site = kernel->sites.at(outcome.fault->site);
  EXPECT_EQ(site.kind, ir::SiteKind::store);
  EXPECT_EQ(kernel->locs.at(site.loc).line, static_cast<std::uint32_t>(line_of_access));
  EXPECT_EQ(host.get<u32>(0), (std::vector<u32>{1, 1, 1}));
}

TEST(Memory, UncheckedTracesCannotFault) {
  const auto kernel = traced(&writes_outside, {4, 1, 1}, {}, false);
  ASSERT_TRUE(kernel);
  EXPECT_FALSE(kernel->checked);
  EXPECT_FALSE(ir::can_fault(*kernel));
}

void checked_condition(In<u32> x, Out<u32> y) {
  line_of_access = __LINE__ + 1;
  check(x[unit_pos] < 10, "keys are below ten");
  y[unit_pos] = x[unit_pos];
}
TEST(Memory, CheckFaultsWithItsMessage) {
  const auto kernel = traced(&checked_condition, {3, 1, 1});
  ASSERT_TRUE(kernel);
  Host good;
  good.in(std::vector<u32>{1, 2, 9}).out<u32>(3);
  EXPECT_FALSE(good.run(*kernel, {1, 1, 1}).fault);
  EXPECT_EQ(good.get<u32>(1), (std::vector<u32>{1, 2, 9}));
  Host bad;
  bad.in(std::vector<u32>{1, 20, 3}).out<u32>(3);
  const auto outcome = bad.run(*kernel, {1, 1, 1});
  ASSERT_TRUE(outcome.fault);
  const ir::Site& site = kernel->sites.at(outcome.fault->site);
  EXPECT_EQ(site.kind, ir::SiteKind::check);
  EXPECT_EQ(site.text, "keys are below ten");
  EXPECT_EQ(kernel->locs.at(site.loc).line, static_cast<std::uint32_t>(line_of_access));
}

void transposed(TensorIn<u32> x, TensorOut<u32> y) {
  const auto row = ex(unit_pos.y), column = ex(unit_pos.x);
  $if(row < x.shape(0) && column < x.shape(1)) {
    y(column, row) = x(row, column);
  }
}
TEST(Memory, TensorsGoByShapeAndStride) {
  const detail::ParamTraits<TensorIn<u32>>::Stored in{2};
  const detail::ParamTraits<TensorOut<u32>>::Stored out{2};
  const auto kernel = traced(&transposed, {4, 4, 1}, {in, out});
  ASSERT_TRUE(kernel) << kernel.error().message();
  Host host;
  host.in(std::vector<u32>{1, 2, 3, 99, 4, 5, 6, 99}).shaped({2, 3}, {4, 1});
  host.out<u32>(6).shaped({3, 2}, {2, 1});
  EXPECT_FALSE(host.run(*kernel, {1, 1, 1}).fault);
  EXPECT_EQ(host.get<u32>(1), (std::vector<u32>{1, 4, 2, 5, 3, 6}));
}

void tensor_masked(TensorIn<u32> x, TensorInOut<u32> z, Out<u32> y) {
  y[unit_pos] = x.load_or(1, unit_pos, 50);
  $if(unit_pos == 0) {
    static_assert(std::is_same_v<decltype(x.rank()), int>);
    y[4] = static_cast<std::uint32_t>(x.rank() * 10 + z.rank());
    y[5] = cast<u32>(x.stride(0));
    y[6] = cast<u32>(x.len());
    z(0) += 5;
    z(1) = z(0);
  }
}
TEST(Memory, TensorLoadOrMasksEachAxis) {
  const detail::ParamTraits<TensorIn<u32>>::Stored x{2};
  const detail::ParamTraits<TensorInOut<u32>>::Stored z{1};
  const auto kernel = traced(&tensor_masked, {4, 1, 1}, {x, z, {}});
  ASSERT_TRUE(kernel) << kernel.error().message();
  Host host;
  host.in(std::vector<u32>{1, 2, 3, 4, 5, 6}).shaped({2, 2}, {3, 1});
  host.in(std::vector<u32>{10, 0}).shaped({2}, {1});
  host.out<u32>(7);
  EXPECT_FALSE(host.run(*kernel, {1, 1, 1}).fault);
  EXPECT_EQ(host.get<u32>(2), (std::vector<u32>{4, 5, 50, 50, 21, 3, 6}));
  EXPECT_EQ(host.get<u32>(1), (std::vector<u32>{15, 15}));
}

void atomics(InOut<Atomic<u32>> a, InOut<Atomic<i32>> b, Out<u32> old) {
  old[0] = a[0].fetch_add(5);
  old[1] = a[0].fetch_sub(1);
  old[2] = a[0].fetch_max(100);
  old[3] = a[0].fetch_min(50);
  old[4] = a[0].fetch_and(0xF0);
  old[5] = a[0].fetch_or(0x0F);
  old[6] = a[0].fetch_xor(0xFF);
  old[7] = a[0].exchange(9);
  old[8] = a[0].compare_exchange(8, 1);
  old[9] = a[0].compare_exchange(9, 2);
  old[10] = a[0].load();
  a[1].store(33);
  b[0].fetch_min(-5);
  b[1].fetch_max(-5);
}
TEST(Memory, AtomicsGiveTheOldValue) {
  Host host;
  host.in(std::vector<u32>{10, 0}).in(std::vector<i32>{3, -9}).out<u32>(11);
  run_one(&atomics, host, 1);
  EXPECT_EQ(host.get<u32>(2), (std::vector<u32>{10, 15, 14, 100, 50, 0x30, 0x3F, 0xC0, 9, 9, 2}));
  EXPECT_EQ(host.get<u32>(0), (std::vector<u32>{2, 33}));
  EXPECT_EQ(host.get<i32>(1), (std::vector<i32>{-5, -5}));
}

void counted(InOut<Atomic<u32>> a) {
  a[0].fetch_add(1);
}
TEST(Memory, AtomicsOfManyUnits) {
  const auto kernel = traced(&counted, {8, 1, 1});
  ASSERT_TRUE(kernel);
  Host host;
  host.in(std::vector<u32>{0});
  EXPECT_FALSE(host.run(*kernel, {5, 1, 1}).fault);
  EXPECT_EQ(host.get<u32>(0)[0], 40u);
}

void mirrored(In<u32> x, Out<u32> y) {
  Shared<u32> s(2, 4);
  s(unit_pos / 4, unit_pos % 4) = x[unit_pos];
  sync_cube();
  y[unit_pos] = s[7 - unit_pos];
}
TEST(Memory, SharedTwoDimensionsAreRowMajor) {
  Host host;
  host.in(std::vector<u32>{0, 1, 2, 3, 4, 5, 6, 7}).out<u32>(8);
  run_one(&mirrored, host, 8, {}, false);
  EXPECT_EQ(host.get<u32>(1), (std::vector<u32>{7, 6, 5, 4, 3, 2, 1, 0}));
}

void uniform(In<u32> x, Out<u32> y) {
  Shared<u32> s(1);
  $if(unit_pos == 0) {
    s[0] = x[0];
  }
  auto n = uniform_load(s, 0);
  y[unit_pos] = n + cast<u32>(unit_pos);
}
TEST(Memory, UniformLoad) {
  Host host;
  host.in(std::vector<u32>{40}).out<u32>(3);
  run_one(&uniform, host, 3, {}, false);
  EXPECT_EQ(host.get<u32>(1), (std::vector<u32>{40, 41, 42}));
}

void shared_outside(Out<u32> y) {
  Shared<u32> s(4);
  s[unit_pos] = 1;
  y[unit_pos] = 2;
}
TEST(Memory, SharedAccessesAreChecked) {
  const auto kernel = traced(&shared_outside, {5, 1, 1});
  ASSERT_TRUE(kernel);
  Host host;
  host.out<u32>(5);
  const auto outcome = host.run(*kernel, {1, 1, 1}, false);
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->index, 4u);
  EXPECT_TRUE(kernel->sites.at(outcome.fault->site).memory.shared);
}

// Every access can fault but load_or.
TEST(Memory, EveryAccessHasASite) {
  for (const auto& kernel : {traced(&atomics), traced(&mirrored), traced(&snapshots)}) {
    ASSERT_TRUE(kernel);
    for (const ir::Op& op : kernel->ops) {
      const bool access =
          op.code == detail::Opcode::load || op.code == detail::Opcode::store ||
          (op.code >= detail::Opcode::atomic_load && op.code <= detail::Opcode::atomic_cas);
      EXPECT_EQ((op.flags & ir::flag_checked) != 0, access);
      EXPECT_EQ(op.site != ir::none, access);
      if (access) {
        EXPECT_NE(kernel->locs.at(op.loc).line, 0u);
      }
    }
  }
}

void untouched(Out<u32> y) {
  $if(unit_pos == 1) {
    y[0] = 1;
  }
}
TEST(Memory, WhatIsNotWrittenKeepsItsPoison) {
  Host host;
  host.out<u32>(2);
  run_one(&untouched, host, 2);
  EXPECT_EQ(host.get<u32>(0), (std::vector<u32>{1, poison}));
}

}  // namespace
}  // namespace tessera::lang::testing
