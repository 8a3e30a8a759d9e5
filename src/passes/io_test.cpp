// SPDX-License-Identifier: MIT OR Apache-2.0
// What the passes say a kernel does with its buffers, against what a run really does.
#include "lang/test_trace.hpp"
#include "passes/binding_io.hpp"
#include "passes/prepare.hpp"
#include "tessera/lang/dollar.hpp"

namespace tessera::lang::testing {
namespace {

using enum detail::Access;
using Accesses = std::vector<detail::Access>;

template <class F>
ir::Kernel prepared(F function, typename Traced<F>::Stored stored = {}) {
  auto kernel = traced(function, {4, 1, 1}, stored);
  if (!kernel) {
    ADD_FAILURE() << kernel.error().message();
    return {};
  }
  const Status done = passes::prepare(*kernel);
  EXPECT_TRUE(done) << done.error().message();
  return *std::move(kernel);
}

Accesses analysed(const ir::Kernel& kernel) {
  Accesses out;
  for (const ir::BindingParam& b : kernel.bindings) out.push_back(b.analysed);
  return out;
}

/// Analysis and run agree on `want`, where the host's buffers reach every access.
void expect_io(const ir::Kernel& kernel, Host& host, const Accesses& want) {
  EXPECT_EQ(analysed(kernel), want) << ir::print(kernel);
  const ir::RunOutcome outcome = host.run(kernel, {1, 1, 1});
  EXPECT_FALSE(outcome.fault);
  EXPECT_EQ(outcome.observed, want) << ir::print(kernel);
}

const std::vector<u32> four{1, 2, 3, 4};

void store_only(In<u32> x, InOut<u32> y) {
  y[unit_pos] = x[unit_pos];
}
TEST(BindingIo, InOutThatIsOnlyStoredToIsOut) {
  Host host;
  host.in(four).out<u32>(4);
  expect_io(prepared(&store_only), host, {in, out});
  EXPECT_EQ(host.get<u32>(1), four);
}

void updated(In<u32> x, InOut<u32> y) {
  y[unit_pos] += x[unit_pos];
}
TEST(BindingIo, InOutThatIsUpdatedIsBoth) {
  Host host;
  host.in(four).in(four);
  expect_io(prepared(&updated), host, {in, inout});
}

void load_only(InOut<u32> x, Out<u32> y) {
  y[unit_pos] = x[unit_pos];
}
TEST(BindingIo, InOutThatIsOnlyLoadedIsIn) {
  Host host;
  host.in(four).out<u32>(4);
  expect_io(prepared(&load_only), host, {in, out});
}

void unused(In<u32>, InOut<u32> y, Out<u32>) {
  y[unit_pos] = 5;
}
TEST(BindingIo, UnusedIsNone) {
  Host host;
  host.in(four).out<u32>(4).out<u32>(4);
  expect_io(prepared(&unused), host, {none, out, none});
}

// Nobody needs what was loaded, and a length is no access.
void dead_loads(In<u32> x, InOut<u32> y, Out<u32> z) {
  auto sum = x[unit_pos] + y[unit_pos];
  Var<u32> v = sum;
  v += 1;
  z[unit_pos] = cast<u32>(x.len());
}
TEST(BindingIo, LoadsWithoutAUseAreNone) {
  Host host;
  host.in(four).in(four).out<u32>(4);
  expect_io(prepared(&dead_loads), host, {none, none, out});
}

void comptime_off(In<u32> x, Out<u32> y, Const<bool> on) {
  $if(static_cast<bool>(on)) {
    y[unit_pos] = x[unit_pos];
  }
  $else {
    y[unit_pos] = 1;
  }
}
TEST(BindingIo, SideNeverTakenIsNone) {
  const detail::ParamTraits<In<u32>>::Stored x{};
  const detail::ParamTraits<Out<u32>>::Stored y{};
  for (const bool on : {true, false}) {
    Host host;
    host.in(four).out<u32>(4);
    expect_io(prepared(&comptime_off, {x, y, on}), host, {on ? in : none, out});
  }
}

void masked(In<u32> x, InOut<u32> y) {
  y[unit_pos] = x.load_or(unit_pos, 9);
}
TEST(BindingIo, LoadOrIsIn) {
  Host host;
  host.in(four).out<u32>(4);
  expect_io(prepared(&masked), host, {in, out});
}

void fetch(InOut<Atomic<u32>> a) {
  a[0].fetch_add(1);
}
void fetch_unused_and_used(InOut<Atomic<u32>> a, InOut<Atomic<i32>> b, Out<u32> y) {
  a[0].fetch_max(1);
  y[unit_pos] = cast<u32>(b[0].exchange(3));
}
TEST(BindingIo, AtomicsAreBoth) {
  Host one;
  one.in(four);
  expect_io(prepared(&fetch), one, {inout});
  Host two;
  two.in(four).in(std::vector<i32>{1}).out<u32>(4);
  expect_io(prepared(&fetch_unused_and_used), two, {inout, inout, out});
}

void atomic_load_and_store(InOut<Atomic<u32>> a, InOut<Atomic<u32>> b, Out<u32> y) {
  y[unit_pos] = a[0].load();
  b[unit_pos].store(3);
}
TEST(BindingIo, AtomicLoadIsInAndAtomicStoreIsOut) {
  Host host;
  host.in(four).in(four).out<u32>(4);
  expect_io(prepared(&atomic_load_and_store), host, {in, out, out});
}

void tensors(TensorIn<u32> x, TensorInOut<u32> y, TensorInOut<u32> z) {
  y(0, unit_pos) = x(0, unit_pos);
  z(0, unit_pos) += 1;
}
TEST(BindingIo, TensorsAsBuffers) {
  const detail::ParamTraits<TensorIn<u32>>::Stored x{2};
  const detail::ParamTraits<TensorInOut<u32>>::Stored y{2};
  Host host;
  host.in(four).shaped({1, 4}, {4, 1});
  host.out<u32>(4).shaped({1, 4}, {4, 1});
  host.in(four).shaped({1, 4}, {4, 1});
  expect_io(prepared(&tensors, {x, y, y}), host, {in, out, inout});
}

void shared_only(Out<u32> y) {
  Shared<u32> s(4);
  s[unit_pos] = 1;
  sync_cube();
  y[unit_pos] = s[3 - unit_pos];
}
TEST(BindingIo, SharedMemoryIsNoBinding) {
  Host host;
  host.out<u32>(4);
  expect_io(prepared(&shared_only), host, {out});
}

// The analysis may be wider than one run.
void sometimes(In<u32> x, InOut<u32> y, Scalar<u32> n) {
  $if(n > 0) {
    y[unit_pos] = x[unit_pos];
  }
}
TEST(BindingIo, WhatARunMayDoCounts) {
  const ir::Kernel kernel = prepared(&sometimes);
  EXPECT_EQ(analysed(kernel), (Accesses{in, out}));
  Host host;
  host.in(four).out<u32>(4).scalar<u32>(0);
  EXPECT_EQ(host.run(kernel, {1, 1, 1}).observed, (Accesses{none, none}));
}

}  // namespace
}  // namespace tessera::lang::testing
