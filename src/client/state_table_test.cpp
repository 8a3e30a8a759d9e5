// SPDX-License-Identifier: MIT OR Apache-2.0
// The state table of byte ranges, row by row: clean, tainted with a root, never allocated.
//
// Rows of replays, windows, collectives and graphs come with those. Outputs are poisoned first, so
// that an operation that did not run leaves nothing plausible.
#include "client/sim_rig.hpp"

namespace tessera::testing {
namespace {

using driver::SimCall;
using driver::SimFault;

void sum(In<u32> a, In<u32> b, Out<u32> c) {
  $if(absolute_pos < c.len()) {
    c[absolute_pos] = a[absolute_pos] + b[absolute_pos];
  }
}
void set_all(Out<u32> a) {
  $if(absolute_pos < a.len()) {
    a[absolute_pos] = 5;
  }
}

class StateTable : public OnSimulator {
 protected:
  /// T(E): a refused write, whose root says "refused 3 values".
  Buffer<u32> tainted(std::size_t n = 2) const {
    Buffer<u32> b = rig.poisoned(n);
    b.write(std::vector<u32>(n + 1, 1));
    return b;
  }
  void expect_tainted(const Buffer<u32>& b, std::size_t n = 2) const {
    expect_root(b, ErrorKind::InvalidArgument, std::to_string((n + 1) * 4) + " bytes");
  }
  /// U(E): more memory than the device has.
  Buffer<u32> unallocated() const { return device.alloc<u32>(32 << 20); }
  void expect_unallocated(const Buffer<u32>& b) const {
    const Error root = root_of(b);
    EXPECT_TRUE(root.kind() == ErrorKind::OutOfMemory || root.kind() == ErrorKind::TooLarge)
        << root.full();
  }
  void expect_injected(const Buffer<u32>& b) const {
    expect_root(b, ErrorKind::LaunchFailed, "Injected fault");
  }
};

// read, check, sync, get_resource, dynamic count

TEST_F(StateTable, ReadGoesOnOrGivesTheRoot) {
  expect_all(rig.buffer(2, 3), 3);
  expect_tainted(tainted());
  expect_unallocated(unallocated());
}

TEST_F(StateTable, CheckSaysWhatIsKnownAndKeepsIt) {
  const Buffer<u32> good = rig.buffer(2, 1), bad = tainted(), none = unallocated();
  rig.catch_up();
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(good.status().has_value());
    ASSERT_FALSE(bad.status().has_value());
    EXPECT_EQ(bad.status().error().root().kind(), ErrorKind::InvalidArgument);
    EXPECT_FALSE(none.status().has_value());
  }
  expect_tainted(bad);
}

TEST_F(StateTable, SyncOfABufferGoesOnOrGivesTheRoot) {
  EXPECT_TRUE(rig.buffer(2, 1).sync().has_value());
  EXPECT_EQ(tainted().sync().error().root().kind(), ErrorKind::InvalidArgument);
  EXPECT_FALSE(unallocated().sync().has_value());
}

TEST_F(StateTable, ResourceGoesOnOrGivesTheRoot) {
  EXPECT_TRUE(rig.buffer(2, 1).resource().has_value());
  EXPECT_EQ(tainted().resource().error().root().kind(), ErrorKind::InvalidArgument);
  EXPECT_FALSE(unallocated().resource().has_value());
}

TEST_F(StateTable, DynamicCountGoesOnOrSkipsWithTheRoot) {
  const std::vector<u32> one{1, 1, 1};
  const Buffer<u32> in = rig.buffer(2, 4), out = rig.poisoned(2), skipped = rig.poisoned(2);
  const Buffer<u32> never = rig.poisoned(2);
  launch<twice>(device, DynamicGrid{device.upload(one), {2, 1, 1}, {4, 1, 1}}, in, out);
  expect_all(out, 8);
  launch<twice>(device, DynamicGrid{tainted(3), {2, 1, 1}, {4, 1, 1}}, in, skipped);
  expect_tainted(skipped, 3);
  launch<twice>(device, DynamicGrid{unallocated().slice(0, 3), {2, 1, 1}, {4, 1, 1}}, in, never);
  expect_unallocated(never);
}

// launch reads it

TEST_F(StateTable, LaunchThatReadsRunsOrIsSkippedWithThePathExtended) {
  const Buffer<u32> out = rig.poisoned(2), skipped = rig.poisoned(2), never = rig.poisoned(2);
  launch<twice>(device, Grid::over(2), rig.buffer(2, 4), out);
  expect_all(out, 8);
  launch<twice>(device, Grid::over(2), tainted(), skipped);
  expect_tainted(skipped);
  const std::string full = skipped.to_vector().error().full();
  EXPECT_NE(full.find("twice"), std::string::npos) << full;
  EXPECT_NE(full.find("while skipping kernel"), std::string::npos) << full;
  launch<twice>(device, Grid::over(2), unallocated().slice(0, 2), never);
  expect_unallocated(never);
}

TEST_F(StateTable, InOutCountsAsAnInput) {
  const Buffer<u32> bad = tainted();
  launch<increment>(device, Grid::over(2), bad);
  expect_tainted(bad);
}

// launch writes it

TEST_F(StateTable, StaticLaunchThatWritesCleans) {
  const Buffer<u32> bad = tainted(), none = unallocated();
  launch<set_all>(device, Grid::over(2), bad);
  expect_all(bad, 5);
  launch<set_all>(device, Grid::over(4), none);
  expect_unallocated(none);
}

TEST_F(StateTable, DynamicLaunchThatWritesKeepsWhatIsTainted) {
  const DynamicGrid grid{device.upload(std::vector<u32>{1, 1, 1}), {2, 1, 1}, {4, 1, 1}};
  const Buffer<u32> good = rig.poisoned(2), bad = tainted(), none = unallocated();
  launch<set_all>(device, grid, good);
  expect_all(good, 5);
  launch<set_all>(device, grid, bad);
  expect_tainted(bad);
  launch<set_all>(device, grid, none);
  expect_unallocated(none);
}

TEST_F(StateTable, LaunchThatFailsAtEnqueueTaintsWhatItWrites) {
  const Buffer<u32> in = rig.buffer(2, 1), out = rig.buffer(2, 7), bad = tainted();
  launch<twice>(device, Grid::over(2), in, rig.poisoned(2));  // compiled by now
  ASSERT_TRUE(device.sync().error().root().kind() == ErrorKind::InvalidArgument);
  rig.next(SimCall::launch, SimFault::fail);
  launch<twice>(device, Grid::over(2), in, out);
  expect_injected(out);
  expect_all(in, 1);
  rig.next(SimCall::launch, SimFault::fail);
  launch<twice>(device, Grid::over(2), in, bad);
  expect_injected(bad);  // the newest failure replaces
}

void never(In<u32> a, Out<u32> b) {
  $if(absolute_pos < b.len()) {
    b[absolute_pos] = a[absolute_pos];
  }
}

TEST_F(StateTable, CompileFailureTaintsTheDeclaredOutputs) {
  driver::SimOptions o = options();
  SimRig other(o);
  // The kernel's name as the device knows it, whatever it is called here.
  const Buffer<u32> in = other.buffer(2, 1), out = other.buffer(2, 7);
  other.next(SimCall::compile, SimFault::fail);
  launch<never>(*other.device, Grid::over(2), in, out);
  const Error root = root_of(out);
  EXPECT_EQ(root.kind(), ErrorKind::CompileFailed);
  expect_all(in, 1);
  // A variant that failed stays failed; the rest of the device goes on.
  launch<never>(*other.device, Grid::over(2), in, out);
  EXPECT_EQ(root_of(out).kind(), ErrorKind::CompileFailed);
  launch<twice>(*other.device, Grid::over(2), in, out);
  expect_all(out, 2);
}

TEST_F(StateTable, RefusedArgumentTaintsTheDeclaredOutputs) {
  const Buffer<u32> a = rig.buffer(4, 1);
  launch<twice>(device, Grid::over(2), a.slice(0, 3), a.slice(1, 3));  // overlap
  expect_all(a.slice(0, 1), 1);
  EXPECT_EQ(root_of(a.slice(1, 3)).kind(), ErrorKind::InvalidArgument);
  SimRig other;
  const Buffer<u32> out = rig.buffer(2, 1);
  launch<twice>(device, Grid::over(2), other.buffer(2, 1), out);  // wrong device
  EXPECT_EQ(root_of(out).kind(), ErrorKind::InvalidArgument);
}

// host write, fill, copy

TEST_F(StateTable, HostWriteCleansOrTaints) {
  const Buffer<u32> b = tainted(), none = unallocated();
  b.write(std::vector<u32>{1, 1});
  expect_all(b, 1);
  rig.next(SimCall::upload, SimFault::fail);
  b.write(std::vector<u32>{2, 2});
  expect_injected(b);
  none.write(std::vector<u32>{1});
  expect_unallocated(none);
}

TEST_F(StateTable, FillCleansOrTaints) {
  const Buffer<u32> b = tainted(), none = unallocated();
  b.fill(6);
  expect_all(b, 6);
  rig.next(SimCall::fill, SimFault::fail);
  b.fill(7);
  expect_injected(b);
  none.fill(1);
  expect_unallocated(none);
}

TEST_F(StateTable, CopyCleansOrTaintsItsTargetAndLeavesItsSource) {
  const Buffer<u32> from = rig.buffer(2, 4), to = tainted();
  to.copy_from(from);
  expect_all(to, 4);
  rig.next(SimCall::copy, SimFault::fail);
  to.copy_from(from);
  expect_injected(to);
  expect_all(from, 4);
  const Buffer<u32> target = rig.buffer(2, 1);
  target.copy_from(tainted());
  expect_tainted(target);
  target.fill(2);
  target.copy_from(unallocated().slice(0, 2));
  expect_unallocated(target);
}

TEST_F(StateTable, ZeroCubesChangeNothing) {
  const Buffer<u32> good = rig.buffer(2, 1), bad = tainted();
  Grid none;
  none.cubes = {0, 1, 1};
  none.units = {2, 1, 1};
  launch<set_all>(device, none, good);
  launch<set_all>(device, none, bad);
  expect_all(good, 1);
  expect_tainted(bad);
}

// found while running

TEST_F(StateTable, FaultTaintsWhatDependedOnItInProgramOrder) {
  rig.sim->hold(0);
  const Buffer<u32> in = rig.buffer(2, 13), out = rig.poisoned(2), copy = rig.poisoned(2);
  const Buffer<u32> later = rig.poisoned(2), cleaned = rig.poisoned(2), beside = rig.buffer(2, 1);
  launch<checked>(device, Grid::over(2), in, out);
  copy.copy_from(out);
  launch<twice>(device, Grid::over(2), copy, later);
  cleaned.copy_from(out);
  cleaned.fill(9);
  const Buffer<u32> written = rig.poisoned(2), launched = rig.poisoned(2);
  written.copy_from(out);
  written.write(std::vector<u32>{3, 3});
  launched.copy_from(out);
  launch<set_all>(device, Grid::over(2), launched);
  rig.catch_up();
  EXPECT_TRUE(out.status().has_value());  // no verdict: it has not run
  rig.sim->release(0);
  for (const Buffer<u32>& b : {out, copy, later}) {
    expect_root(b, ErrorKind::KernelFault, "thirteen");
  }
  expect_all(cleaned, 9);
  expect_all(written, 3);
  expect_all(launched, 5);
  expect_all(in, 13);
  expect_all(beside, 1);
  EXPECT_FALSE(out.status().has_value());
}

TEST_F(StateTable, LateErrorTaintsLikeAFault) {
  for (const SimCall call : {SimCall::upload, SimCall::fill, SimCall::copy, SimCall::launch}) {
    const Buffer<u32> from = rig.buffer(2, 4), b = rig.poisoned(2), after = rig.poisoned(2);
    launch<twice>(device, Grid::over(2), from, rig.poisoned(2));
    rig.next(call, SimFault::late);
    if (call == SimCall::upload) b.write(std::vector<u32>{1, 1});
    if (call == SimCall::fill) b.fill(1);
    if (call == SimCall::copy) b.copy_from(from);
    if (call == SimCall::launch) launch<twice>(device, Grid::over(2), from, b);
    after.copy_from(b);
    expect_injected(after);
    expect_injected(b);
    expect_all(from, 4);
  }
}

TEST_F(StateTable, LateErrorOfADownloadIsThatReadsAlone) {
  const Buffer<u32> b = rig.buffer(2, 4);
  rig.next(SimCall::download, SimFault::late);
  expect_injected(b);
  expect_all(b, 4);
}

// device loss

TEST_F(StateTable, LossMakesVoidWhatWasInFlightAndUnreachableTheRest) {
  const Buffer<u32> settled = rig.buffer(2, 1), hit = rig.poisoned(2);
  expect_all(settled, 1);
  rig.sim->hold(0);
  hit.fill(3);
  Pending<std::vector<u32>> read = hit.download();
  rig.catch_up();
  rig.sim->lose("The cable was pulled.");
  for (const Buffer<u32>& b : {hit, settled}) expect_root(b, ErrorKind::DeviceLost, "cable");
  const Result<std::vector<u32>> got = std::move(read).get();
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().root().kind(), ErrorKind::DeviceLost);
  const Buffer<u32> late = rig.buffer(2, 1);
  expect_root(late, ErrorKind::DeviceLost, "cable");
  EXPECT_EQ(device.sync().error().root().kind(), ErrorKind::DeviceLost);
  EXPECT_FALSE(late.status().has_value());
}

TEST_F(StateTable, ATrapLosesTheDevice) {
  const Buffer<u32> in = rig.buffer(2, 1), out = rig.poisoned(2);
  rig.next(SimCall::launch, SimFault::trap);
  launch<twice>(device, Grid::over(2), in, out);
  expect_root(out, ErrorKind::DeviceLost, "trapped");
  expect_root(in, ErrorKind::DeviceLost, "trapped");
}

TEST_F(StateTable, AHangIsALossWhereADeadlineIsSet) {
  detail::CoreConfig config;
  config.executor.hang_after = std::chrono::milliseconds(60);
  SimRig hanging(options(), config);
  const Buffer<u32> in = hanging.buffer(2, 1), out = hanging.poisoned(2);
  expect_all(in, 1);
  hanging.next(SimCall::launch, SimFault::hang);
  launch<twice>(*hanging.device, Grid::over(2), in, out);
  const Error root = root_of(out);
  EXPECT_EQ(root.kind(), ErrorKind::DeviceLost);
  EXPECT_NE(root.message().find("twice"), std::string::npos) << root.message();
  expect_root(in, ErrorKind::DeviceLost, "twice");
}

// gone

TEST_F(StateTable, AClaimGoesWithTheLastHandle) {
  Buffer<u32> bad = tainted();
  const Buffer<u32> shared = bad;
  bad = Buffer<u32>();
  expect_tainted(shared);  // not the last
  EXPECT_FALSE(device.sync().has_value());
  {
    const Buffer<u32> other = tainted();
    rig.catch_up();
  }
  const Buffer<u32> reused = rig.buffer(2, 8);
  expect_all(reused, 8);
}

TEST_F(StateTable, SyncOfTheDeviceReportsTheEarliestAndConsumesNothing) {
  EXPECT_TRUE(device.sync().has_value());
  Buffer<u32> first = tainted(4), second = tainted(9);
  for (int i = 0; i < 2; ++i) {
    const Status s = device.sync();
    ASSERT_FALSE(s.has_value());
    EXPECT_NE(s.error().root().message().find("20 bytes"), std::string::npos);
  }
  first = Buffer<u32>();
  EXPECT_NE(device.sync().error().root().message().find("40 bytes"), std::string::npos);
  second = Buffer<u32>();
  EXPECT_TRUE(device.sync().has_value());
}

TEST_F(StateTable, SyncOfAStreamKnowsItsOwn) {
  const Buffer<u32> b = rig.poisoned(2);
  b.write(rig.stream(1), std::vector<u32>{1, 2, 3});
  EXPECT_FALSE(rig.stream(1).sync().has_value());
  EXPECT_TRUE(rig.stream(2).sync().has_value());
  EXPECT_FALSE(device.sync().has_value());
}

// further

TEST_F(StateTable, ClaimsAreOfBytes) {
  const Buffer<u32> b = rig.buffer(64, 1);
  b.slice(16, 32).write(std::vector<u32>(33, 2));  // refused
  expect_all(b.slice(0, 16), 1);
  expect_all(b.slice(48, 16), 1);
  EXPECT_EQ(root_of(b.slice(47, 2)).kind(), ErrorKind::InvalidArgument);  // overlap by one
  b.slice(16, 8).fill(3);  // cleans what it covers alone
  expect_all(b.slice(16, 8), 3);
  EXPECT_EQ(root_of(b.slice(16, 9)).kind(), ErrorKind::InvalidArgument);
  launch<set_all>(device, Grid::over(16), b.slice(32, 16));  // its binding, not the whole buffer
  expect_all(b.slice(32, 16), 5);
  EXPECT_EQ(root_of(b.slice(24, 8)).kind(), ErrorKind::InvalidArgument);
  expect_all(b.slice(0, 16), 1);
}

TEST_F(StateTable, TheFirstBindingInArgumentOrderIsNamed) {
  const Buffer<u32> second = tainted(9), first = tainted(4), out = rig.poisoned(2);
  launch<sum>(device, Grid::over(2), first.slice(0, 2), second.slice(0, 2), out);
  expect_tainted(out, 4);
  const DynamicGrid grid{tainted(3), {2, 1, 1}, {4, 1, 1}};
  launch<twice>(device, grid, second.slice(0, 2), rig.poisoned(2));
  const Buffer<u32> counted = rig.poisoned(2);
  launch<twice>(device, grid, second.slice(0, 2), counted);
  expect_tainted(counted, 9);  // the count comes last
}

TEST_F(StateTable, InABindingTheLowestOffsetIsNamed) {
  const Buffer<u32> b = rig.buffer(64, 1);
  b.slice(40, 2).write(std::vector<u32>(3, 1));
  b.slice(8, 5).write(std::vector<u32>(6, 1));
  expect_root(b, ErrorKind::InvalidArgument, "24 bytes");
}

TEST_F(StateTable, ARelaunchRecovers) {
  const Buffer<u32> in = rig.buffer(2, 13), out = rig.poisoned(2);
  launch<checked>(device, Grid::over(2), in, out);
  expect_root(out, ErrorKind::KernelFault, "thirteen");
  in.fill(2);
  launch<checked>(device, Grid::over(2), in, out);
  expect_all(out, 2);
}

TEST_F(StateTable, FlushReportsNothing) {
  const Buffer<u32> bad = tainted();
  device.stream().flush();
  expect_tainted(bad);
}

}  // namespace
}  // namespace tessera::testing
