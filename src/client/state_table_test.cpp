// SPDX-License-Identifier: MIT OR Apache-2.0
// The rows of the failure table about reading, launching and doing nothing.
//
// Rows that cannot be reached yet, since what they are about does not exist: get_resource, send and
// reduce; replays, windows, refused writes on a recording stream and graph destruction; collective
// results; dry run and collect; relocation. A write scope that is left unsettled is reached by no
// call: every path of the server settles its scope.
#include "client/state_table.hpp"

namespace tessera {
namespace {

using namespace sim_kernels;

class ReadsAndLaunches : public StateTable {
 protected:
  DynamicGrid one_cube() {
    return {rig_.device().upload(std::vector<u32>{1, 1, 1}), {n, 1, 1}, {4, 1, 1}};
  }
};
TESSERA_STATE_TABLE(ReadsAndLaunches);

TEST_P(ReadsAndLaunches, ReadGivesTheBytesOrTheRoot) {
  const Cell c = cell();
  expect_unchanged(c);
  expect_unchanged(c);  // reading consumes nothing
}

TEST_P(ReadsAndLaunches, ReadInFlightBeforeTheFailureIsFoundFailsToo) {
  const Cell c = cell();
  auto pending = c.bytes.download();
  settle();
  const auto got = std::move(pending).get();
  EXPECT_EQ(got.has_value(), clean());
  if (!got) {
    EXPECT_TRUE(got.error().same_root(root_of(c.witness)) ||
                got.error().root().same_root(root_of(c.witness)));
  }
}

TEST_P(ReadsAndLaunches, StatusTellsTheRootOnceItIsKnown) {
  const Cell c = cell();
  settle();
  (void)rig_.device().sync();
  const Status status = c.bytes.status();
  EXPECT_EQ(static_cast<bool>(status), clean());
  if (!status) {
    EXPECT_TRUE(status.error().root().same_root(root_of(c.witness)));
  }
  if (!never()) {
    EXPECT_TRUE(c.around.slice(0, n).status());
  }
}

TEST_P(ReadsAndLaunches, SyncOfStreamAndDeviceTellTheRoot) {
  const Cell c = cell();
  settle();
  for (const Status& status : {rig_.stream(0).sync(), rig_.device().sync()}) {
    EXPECT_EQ(static_cast<bool>(status), clean());
    if (!status) {
      EXPECT_TRUE(status.error().root().same_root(root_of(c.witness)));
    }
  }
  EXPECT_TRUE(rig_.stream(1).sync());  // nothing of it failed
}

TEST_P(ReadsAndLaunches, LaunchWithItsDynamicCountInItRunsOrIsSkipped) {
  const Cell c = cell();
  if (clean()) c.bytes.fill(1);
  const auto out = rig_.poisoned(3 * n);
  launch<sevens>(rig_.device(), DynamicGrid{c.bytes, {n, 1, 1}, {4, 1, 1}}, out.slice(n, n));
  if (clean()) {
    EXPECT_EQ(values(out.slice(n, n)), all_of(n, 7));
  } else {
    expect_root(out.slice(n, n), c);
  }
  EXPECT_EQ(values(out.slice(0, n)), all_of(n, poison));
  EXPECT_EQ(values(out.slice(2 * n, n)), all_of(n, poison));
}

TEST_P(ReadsAndLaunches, LaunchThatReadsItIsSkippedAndItsOutputsCarryTheRoot) {
  const Cell c = cell();
  const auto out = rig_.poisoned(3 * n);
  launch<plus_one>(rig_.device(), Grid::over(n), c.bytes, out.slice(n, n));
  if (clean()) {
    EXPECT_EQ(values(out.slice(n, n)), all_of(n, before + 1));
  } else {
    expect_root(out.slice(n, n), c);
    if (!hidden()) {  // else it was not skipped but found out
      const std::string text = error_of(out.slice(n, n)).full();
      EXPECT_TRUE(contains(text, "while skipping kernel " + name_of<plus_one>() + " launched at "))
          << text;
      EXPECT_TRUE(contains(text, "while reading it back at ")) << text;
    }
  }
  EXPECT_EQ(values(out.slice(0, n)), all_of(n, poison));
  EXPECT_EQ(values(out.slice(2 * n, n)), all_of(n, poison));
  expect_unchanged(c);
}

TEST_P(ReadsAndLaunches, SkippedLaunchNeverReachesTheDevice) {
  const Cell c = cell();
  const auto out = rig_.poisoned(n);
  rig_.issued();
  const auto launches = rig_.sim().calls(SimRig::Call::launch);
  launch<plus_one>(rig_.device(), Grid::over(n), c.bytes, out);
  rig_.issued();
  EXPECT_EQ(rig_.sim().calls(SimRig::Call::launch), launches + (clean() || hidden() ? 1 : 0));
}

TEST_P(ReadsAndLaunches, EveryOutputOfASkippedLaunchCarriesTheRoot) {
  const Cell c = cell();
  const auto other = rig_.device().full<u32>(n, 1u);
  const auto sum = rig_.poisoned(n), difference = rig_.poisoned(n), bystander = rig_.poisoned(n);
  launch<sum_and_difference>(rig_.device(), Grid::over(n), other, c.bytes, sum, difference);
  if (clean()) {
    EXPECT_EQ(values(sum), all_of(n, before + 1));
    EXPECT_EQ(values(difference), all_of(n, 1 - before));
  } else {
    expect_root(sum, c);
    expect_root(difference, c);
  }
  EXPECT_EQ(values(other), all_of(n, 1));
  EXPECT_EQ(values(bystander), all_of(n, poison));
}

TEST_P(ReadsAndLaunches, LaunchThatUpdatesItIsSkippedAndTheRootStays) {
  const Cell c = cell();
  launch<bump>(rig_.device(), Grid::over(n), c.bytes);
  if (clean()) {
    EXPECT_EQ(values(c.bytes), all_of(n, before + 1));
  } else {
    expect_root(c.bytes, c);
  }
  expect_neighbours(c);
}

TEST_P(ReadsAndLaunches, PathGrowsWithEverySkippedLaunch) {
  const Cell c = cell();
  const auto x = rig_.poisoned(n), y = rig_.poisoned(n);
  launch<plus_one>(rig_.device(), Grid::over(n), c.bytes, x);
  launch<add_into>(rig_.device(), Grid::over(n), x, y);
  if (clean()) {
    EXPECT_EQ(values(y), all_of(n, poison + before + 1));
    return;
  }
  expect_root(y, c);
  if (hidden()) return;
  const std::string text = error_of(y).full();
  const auto first = text.find("while skipping kernel " + name_of<plus_one>());
  const auto second = text.find("while skipping kernel " + name_of<add_into>());
  EXPECT_NE(first, std::string::npos) << text;
  EXPECT_NE(second, std::string::npos) << text;
  EXPECT_LT(first, second) << text;
}

TEST_P(ReadsAndLaunches, LaunchWithAStaticCountThatWritesItCleansIt) {
  const Cell c = cell();
  launch<sevens>(rig_.device(), Grid::over(n), c.bytes);
  expect_written(c, 7);
}

TEST_P(ReadsAndLaunches, LaunchWithADynamicCountThatWritesItNeedsItClean) {
  const Cell c = cell();
  launch<sevens>(rig_.device(), one_cube(), c.bytes);
  if (clean()) {
    EXPECT_EQ(values(c.bytes), all_of(n, 7));
  } else {
    expect_root(c.bytes, c);
  }
  expect_neighbours(c);
}

TEST_P(ReadsAndLaunches, DynamicCountOfZeroLeavesItAsItWas) {
  const Cell c = cell();
  const auto zero = rig_.device().zeros<u32>(3);
  launch<sevens>(rig_.device(), DynamicGrid{zero, {n, 1, 1}, {4, 1, 1}}, c.bytes);
  expect_unchanged(c);
}

TEST_P(ReadsAndLaunches, LaunchThatTheDriverRefusesTaintsItAnew) {
  const Cell c = cell();
  rig_.next(SimRig::Call::launch, SimRig::Fault::fail);
  launch<sevens>(rig_.device(), Grid::over(n), c.bytes);
  expect_failed_with(c, ErrorKind::LaunchFailed, "at launch ");
  if (!never()) {
    const std::string text = error_of(c.bytes).full();
    EXPECT_TRUE(contains(text, "in kernel " + name_of<sevens>())) << text;
    EXPECT_TRUE(contains(text, "while launching kernel " + name_of<sevens>() + " at ")) << text;
  }
}

TEST_P(ReadsAndLaunches, LaunchWithADynamicCountThatTheDriverRefusesTaintsItAnew) {
  const Cell c = cell();
  const DynamicGrid grid = one_cube();
  rig_.issued();
  // The count's own launch first, then the one behind it.
  for (const int nth : {1, 2}) {
    rig_.sim().plan({SimRig::Call::launch,
                     rig_.sim().calls(SimRig::Call::launch) + static_cast<unsigned>(nth),
                     SimRig::Fault::fail});
    const auto out = rig_.poisoned(n);
    launch<sevens>(rig_.device(), grid, out);
    rig_.issued();
    (void)expect_new_root(out, c, ErrorKind::LaunchFailed, "at launch ");
  }
  EXPECT_EQ(rig_.sim().faults_injected(), GetParam() == Column::failed ||
                                                  GetParam() == Column::late ||
                                                  GetParam() == Column::hidden_late
                                              ? 3u
                                              : 2u);
}

TEST_P(ReadsAndLaunches, LaunchThatCannotBePutInOrderTaintsItAnew) {
  if (hidden()) return;  // the only queue that could be waited for stands still
  const Cell c = cell();
  const auto x = rig_.device().alloc<u32>(n);
  rig_.ran();
  rig_.hold(1);
  x.fill(rig_.stream(1), 5);
  rig_.next(SimRig::Call::wait, SimRig::Fault::fail);
  launch<plus_one>(rig_.device(), Grid::over(n), x, c.bytes);
  expect_failed_with(c, ErrorKind::LaunchFailed, "at wait ");
}

TEST_P(ReadsAndLaunches, KernelThatDoesNotCompileTaintsIt) {
  const Cell c = cell();
  const auto second = rig_.poisoned(n);
  launch<writes_first_of_two>(rig_.device(), Grid::over(n), c.bytes, second);
  rig_.issued();
  expect_failed_with(c, ErrorKind::CompileFailed, "was chosen not to compile");
  if (!never()) {
    const std::string text = error_of(c.bytes).full();
    EXPECT_EQ(root_of(second).kind(), ErrorKind::CompileFailed);  // declared, never written
    EXPECT_TRUE(contains(text, "in kernel " + name_of<writes_first_of_two>())) << text;
    EXPECT_TRUE(contains(
        text, "while compiling kernel " + name_of<writes_first_of_two>() + " for Simulator"))
        << text;
  }
}

TEST_P(ReadsAndLaunches, KernelThatDoesNotTraceTaintsIt) {
  const Cell c = cell();
  const auto kernel = [](Out<u32> out) {
    $if(unit_pos < 2) {
      sync_cube();
    }
    out[unit_pos] = 1u;
  };
  EXPECT_FALSE(launch(rig_.device(), Grid({1, 1, 1}, {n, 1, 1}), kernel, c.bytes).status());
  expect_failed_with(c, ErrorKind::CompileFailed, "");
}

TEST_P(ReadsAndLaunches, ZeroCubesChangeNothing) {
  const Cell c = cell();
  rig_.issued();
  const auto launches = rig_.sim().calls(SimRig::Call::launch);
  EXPECT_TRUE(launch<sevens>(rig_.device(), Grid::over(0), c.bytes).status());
  EXPECT_TRUE(launch<sevens>(rig_.device(), Grid({1, 0, 1}), c.bytes).status());
  const auto out = rig_.poisoned(n);
  EXPECT_TRUE(launch<plus_one>(rig_.device(), Grid({1, 1, 0}), c.bytes, out).status());
  rig_.issued();
  EXPECT_EQ(rig_.sim().calls(SimRig::Call::launch), launches);
  expect_unchanged(c);
  EXPECT_EQ(values(out), all_of(n, poison));
}

}  // namespace
}  // namespace tessera
