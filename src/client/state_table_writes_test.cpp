// SPDX-License-Identifier: MIT OR Apache-2.0
// The rows of the failure table about host writes, fills, copies and refused arguments.
#include "client/state_table.hpp"

namespace tessera {
namespace {

using namespace sim_kernels;

class Writes : public StateTable {};
TESSERA_STATE_TABLE(Writes);

TEST_P(Writes, HostWriteCleansIt) {
  const Cell c = cell();
  c.bytes.write(all_of(n, 9));
  expect_written(c, 9);
}

TEST_P(Writes, FillCleansIt) {
  const Cell c = cell();
  c.bytes.fill(9);
  expect_written(c, 9);
}

TEST_P(Writes, CopyOfCleanBytesIntoItCleansIt) {
  const Cell c = cell();
  const auto from = rig_.device().full<u32>(n, 9u);
  c.bytes.copy_from(from);
  expect_written(c, 9);
  EXPECT_EQ(values(from), all_of(n, 9));
}

TEST_P(Writes, HostWriteOnAnotherStreamCleansIt) {
  const Cell c = cell();
  c.bytes.write(rig_.stream(1), all_of(n, 9));
  expect_written(c, 9);
}

TEST_P(Writes, HostWriteThatTheDriverRefusesTaintsItAnew) {
  const Cell c = cell();
  rig_.next(SimRig::Call::upload, SimRig::Fault::fail);
  c.bytes.write(all_of(n, 9));
  expect_failed_with(c, ErrorKind::LaunchFailed, "at upload ");
  if (!never()) {
    EXPECT_TRUE(contains(error_of(c.bytes).full(), "while enqueueing the host write issued at "));
  }
}

TEST_P(Writes, FillThatTheDriverRefusesTaintsItAnew) {
  const Cell c = cell();
  rig_.next(SimRig::Call::fill, SimRig::Fault::fail);
  c.bytes.fill(9);
  expect_failed_with(c, ErrorKind::LaunchFailed, "at fill ");
  if (!never()) {
    EXPECT_TRUE(contains(error_of(c.bytes).full(), "while enqueueing the fill issued at "));
  }
}

TEST_P(Writes, CopyThatTheDriverRefusesTaintsItAnew) {
  const Cell c = cell();
  const auto from = rig_.device().full<u32>(n, 9u);
  rig_.next(SimRig::Call::copy, SimRig::Fault::fail);
  c.bytes.copy_from(from);
  expect_failed_with(c, ErrorKind::LaunchFailed, "at copy ");
  EXPECT_EQ(values(from), all_of(n, 9));
  if (!never()) {
    EXPECT_TRUE(contains(error_of(c.bytes).full(), "while enqueueing the copy issued at "));
  }
}

TEST_P(Writes, LateErrorOfAWriteTaintsItAnew) {
  const Cell c = cell();
  rig_.next(SimRig::Call::upload, SimRig::Fault::late);
  c.bytes.write(all_of(n, 9));
  expect_failed_with(c, ErrorKind::LaunchFailed, "spoiled operation");
}

TEST_P(Writes, CopyFromItPassesItsStateOn) {
  const Cell c = cell();
  const auto to = rig_.poisoned(3 * n);
  to.slice(n, n).copy_from(c.bytes);
  if (clean()) {
    EXPECT_EQ(values(to.slice(n, n)), all_of(n, before));
  } else {
    expect_root(to.slice(n, n), c);
  }
  EXPECT_EQ(values(to.slice(0, n)), all_of(n, poison));
  EXPECT_EQ(values(to.slice(2 * n, n)), all_of(n, poison));
  expect_unchanged(c);
}

TEST_P(Writes, CloneOfItPassesItsStateOn) {
  const Cell c = cell();
  const auto to = c.bytes.clone();
  if (clean()) {
    EXPECT_EQ(values(to), all_of(n, before));
  } else {
    expect_root(to, c);
  }
}

TEST_P(Writes, CopyOfTaintedBytesIntoItReplacesItsReason) {
  const Cell c = cell();
  const auto from = rig_.poisoned(n);
  from.write(all_of(n + 2, 1));
  c.bytes.copy_from(from);
  expect_failed_with(c, ErrorKind::InvalidArgument, "264 bytes cannot be written");
}

// Refused arguments

TEST_P(Writes, HostWriteOfTooManyElementsIsRefused) {
  const Cell c = cell();
  c.bytes.write(all_of(n + 3, 9));
  expect_failed_with(c, ErrorKind::InvalidArgument,
                     "268 bytes cannot be written to a buffer of 256 bytes");
}

TEST_P(Writes, CopyOfAnotherLengthIsRefused) {
  const Cell c = cell();
  const auto from = rig_.device().full<u32>(n - 1, 9u);
  c.bytes.copy_from(from);
  expect_failed_with(c, ErrorKind::InvalidArgument, "source 252 bytes, target 256 bytes");
  EXPECT_EQ(values(from), all_of(n - 1, 9));
}

TEST_P(Writes, CopyFromAnotherDeviceIsRefused) {
  const Cell c = cell();
  driver::SimOptions options;
  options.name = "Elsewhere";
  const SimRig other(options);
  const auto from = other.device().full<u32>(n, 9u);
  c.bytes.copy_from(from);
  expect_failed_with(c, ErrorKind::InvalidArgument,
                     "A buffer of Elsewhere cannot be copied to a "
                     "buffer of Simulator");
  EXPECT_EQ(values_of(from), all_of(n, 9));
}

TEST_P(Writes, CopyOntoItsOwnNeighboursIsRefused) {
  if (never()) return;
  const Cell c = cell();
  c.bytes.copy_from(c.around.slice(n / 2, n));
  (void)expect_new_root(c.bytes, c, ErrorKind::InvalidArgument, "overlap");
  expect_neighbours(c);
}

TEST_P(Writes, LaunchWithABufferOfAnotherDeviceIsRefused) {
  const Cell c = cell();
  driver::SimOptions options;
  options.name = "Elsewhere";
  const SimRig other(options);
  const auto foreign = other.device().full<u32>(n, 9u);
  const auto sum = rig_.poisoned(n);
  const Launched launched =
      launch<sum_and_difference>(rig_.device(), Grid::over(n), foreign, foreign, sum, c.bytes);
  ASSERT_FALSE(launched.status());
  EXPECT_TRUE(contains(launched.status().error().message(), "Elsewhere"));
  EXPECT_TRUE(contains(launched.status().error().message(), "Simulator"));
  (void)expect_new_root(sum, c, ErrorKind::InvalidArgument, "Elsewhere");
  expect_failed_with(c, ErrorKind::InvalidArgument, "belongs to Elsewhere");
  EXPECT_EQ(values_of(foreign), all_of(n, 9));
}

TEST_P(Writes, OutputsOfOtherDevicesAreLeftAloneByARefusedLaunch) {
  const Cell c = cell();
  const SimRig other;
  const auto foreign = other.device().full<u32>(n, 9u);
  const auto a = rig_.device().full<u32>(n, 1u);
  EXPECT_FALSE(
      launch<sum_and_difference>(rig_.device(), Grid::over(n), a, a, foreign, c.bytes).status());
  expect_failed_with(c, ErrorKind::InvalidArgument, "Buffer 2 of the launch belongs to");
  EXPECT_EQ(values_of(foreign), all_of(n, 9));
  EXPECT_TRUE(foreign.status());
}

TEST_P(Writes, LaunchWithOverlappingBuffersIsRefused) {
  if (never()) return;
  const Cell c = cell();
  const auto in = c.around.slice(n / 2, n);
  EXPECT_FALSE(launch<plus_one>(rig_.device(), Grid::over(n), in, c.bytes).status());
  (void)expect_new_root(c.bytes, c, ErrorKind::InvalidArgument,
                        "Buffers 0 and 1 of the launch overlap and one is written");
  expect_neighbours(c);
}

TEST_P(Writes, LaunchWithTooShortACountIsRefused) {
  const Cell c = cell();
  const auto count = rig_.device().full<u32>(2, 1u);
  EXPECT_FALSE(launch<sevens>(rig_.device(), DynamicGrid{count, {n, 1, 1}}, c.bytes).status());
  expect_failed_with(c, ErrorKind::InvalidArgument, "it has 8 bytes at offset 0");
}

TEST_P(Writes, LaunchWithABufferOfNoDeviceIsRefused) {
  const Cell c = cell();
  EXPECT_FALSE(launch<plus_one>(rig_.device(), Grid::over(n), Buffer<u32>(), c.bytes).status());
  expect_failed_with(c, ErrorKind::InvalidArgument, "Buffer 0 of the launch belongs to no device");
}

TEST_P(Writes, LaunchOfACubeThatNoDeviceRunsIsRefused) {
  const Cell c = cell();
  EXPECT_FALSE(launch<sevens>(rig_.device(), Grid({1, 1, 1}, {4096, 1, 1}), c.bytes).status());
  expect_failed_with(c, ErrorKind::InvalidArgument, "4096 units on axis x");
}

TEST_P(Writes, LastHandleGoneAndSliceReusedLeavesNoClaim) {
  if (hidden()) {
    // The launch or fill that fails must not touch what follows it in the slice.
    Cell c = cell();
    c.around = c.bytes = Buffer<u32>();
    const auto next = rig_.device().full<u32>(3 * n, 5u);
    EXPECT_EQ(values(next), all_of(3 * n, 5));
    EXPECT_TRUE(next.status());
    expect_root(c.witness, c);
    return;
  }
  const auto spot = [&] { return rig_.server([](server::Server& s) { return s.memory_usage(); }); };
  Cell c = cell();
  const auto taken = spot().taken;
  c = Cell();
  rig_.started();
  EXPECT_EQ(spot().live, 0u);
  const auto around = rig_.device().alloc<u32>(3 * n), witness = rig_.device().alloc<u32>(n);
  around.fill(5);
  witness.fill(6);
  EXPECT_EQ(values(around), all_of(3 * n, 5));
  EXPECT_EQ(values(witness), all_of(n, 6));
  EXPECT_TRUE(around.status());
  EXPECT_TRUE(rig_.device().sync());
  if (!never()) {
    EXPECT_EQ(spot().taken, taken);
  }
}

}  // namespace
}  // namespace tessera
