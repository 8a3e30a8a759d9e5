// SPDX-License-Identifier: MIT OR Apache-2.0
// What is said of failures: of which bytes, which of several, and what sync, status and flush tell.
#include <gtest/gtest.h>

#include "client/pending_core.hpp"
#include "client/sim_kernels.hpp"
#include "client/sim_rig.hpp"
#include "server/command_writer.hpp"

namespace tessera {
namespace {

using namespace sim_kernels;

constexpr std::uint64_t n = 64;
const Grid whole({1, 1, 1}, {n, 1, 1});

/// Taints the bytes with a reason that names the length: n + extra elements do not fit.
Error taint(const Buffer<u32>& buffer, std::uint64_t extra) {
  buffer.write(all_of(buffer.size() + extra, 1));
  return root_of(buffer);
}

// Byte ranges

TEST(FailureReports, AnyOverlapTaintsARead) {
  const SimRig rig;
  const auto all = rig.device().full<u32>(n, 3u);
  const Error root = taint(all.slice(16, 8), 1);
  for (const auto& [begin, count] : {std::pair{0, 17}, {16, 1}, {23, 1}, {23, 20}, {0, 64}}) {
    EXPECT_TRUE(root_of(all.slice(static_cast<unsigned>(begin), static_cast<unsigned>(count)))
                    .same_root(root))
        << begin;
  }
  EXPECT_EQ(values_of(all.slice(0, 16)), all_of(16, 3));
  EXPECT_EQ(values_of(all.slice(24, 40)), all_of(40, 3));
}

TEST(FailureReports, AnyOverlapTaintsALaunchAndACopy) {
  const SimRig rig;
  const auto all = rig.device().full<u32>(n, 3u), out = rig.poisoned(n), to = rig.poisoned(n);
  const Error root = taint(all.slice(31, 1), 1);
  launch<plus_one>(rig.device(), Grid::over(32), all.slice(0, 32), out.slice(0, 32));
  launch<plus_one>(rig.device(), Grid::over(32), all.slice(32, 32), out.slice(32, 32));
  EXPECT_TRUE(root_of(out.slice(0, 32)).same_root(root));
  EXPECT_EQ(values_of(out.slice(32, 32)), all_of(32, 4));
  to.slice(0, 31).copy_from(all.slice(0, 31));
  to.slice(31, 2).copy_from(all.slice(31, 2));
  EXPECT_EQ(values_of(to.slice(0, 31)), all_of(31, 3));
  EXPECT_TRUE(root_of(to.slice(32, 1)).same_root(root));
  EXPECT_EQ(values_of(to.slice(33, 31)), all_of(31, poison));
}

TEST(FailureReports, AWriteClearsOnlyTheBytesItCovers) {
  const SimRig rig;
  const auto all = rig.device().full<u32>(n, 3u);
  const Error root = taint(all, 1);
  all.slice(8, 8).fill(5);
  all.write(all_of(4, 6));  // the first four
  EXPECT_EQ(values_of(all.slice(0, 4)), all_of(4, 6));
  EXPECT_EQ(values_of(all.slice(8, 8)), all_of(8, 5));
  EXPECT_TRUE(root_of(all.slice(4, 4)).same_root(root));
  EXPECT_TRUE(root_of(all.slice(16, 48)).same_root(root));
  all.slice(4, 4).fill(6);
  EXPECT_EQ(values_of(all.slice(0, 8)), all_of(8, 6));
  EXPECT_FALSE(all.to_vector());
  all.slice(16, 48).fill(7);
  EXPECT_TRUE(all.to_vector());
}

TEST(FailureReports, AClaimAcrossManyHolesKeepsEveryPiece) {
  const SimRig rig;
  const auto all = rig.device().full<u32>(n, 3u);
  const Error root = taint(all, 1);
  for (std::uint64_t i = 0; i < n; i += 2) all.slice(i, 1).fill(5);
  for (std::uint64_t i = 0; i < n; ++i) {
    const auto one = all.slice(i, 1);
    if (i % 2 == 0) {
      EXPECT_EQ(values_of(one), all_of(1, 5)) << i;
    } else {
      EXPECT_TRUE(root_of(one).same_root(root)) << i;
    }
  }
}

TEST(FailureReports, AKernelOutputClearsItsWholeBindingAndNothingElse) {
  const SimRig rig;
  const auto all = rig.poisoned(n);
  const Error root = taint(all, 1);
  launch<sevens>(rig.device(), Grid::over(16), all.slice(16, 16));
  EXPECT_EQ(values_of(all.slice(16, 16)), all_of(16, 7));
  EXPECT_TRUE(root_of(all.slice(0, 16)).same_root(root));
  EXPECT_TRUE(root_of(all.slice(32, 32)).same_root(root));
  // The binding is what counts, not what the kernel happens to touch.
  launch<sevens>(rig.device(), Grid({1, 1, 1}, {1, 1, 1}), all.slice(32, 32));
  EXPECT_TRUE(all.slice(32, 32).to_vector());
}

TEST(FailureReports, AFaultTaintsTheBindingAndNotTheBuffer) {
  const SimRig rig;
  const auto all = rig.poisoned(3 * n), source = rig.device().full<u32>(n, 1u);
  launch<reads_past>(rig.device(), whole, source, all.slice(n, n));
  EXPECT_EQ(root_of(all.slice(n, n)).kind(), ErrorKind::KernelFault);
  EXPECT_EQ(values_of(all.slice(0, n)), all_of(n, poison));
  EXPECT_EQ(values_of(all.slice(2 * n, n)), all_of(n, poison));
}

// Which error

TEST(FailureReports, TheFirstFailingArgumentGivesTheError) {
  const SimRig rig;
  const auto a = rig.poisoned(n), b = rig.poisoned(n), sum = rig.poisoned(n);
  const auto difference = rig.poisoned(n);
  const Error of_b = taint(b, 2);  // the earlier failure
  const Error of_a = taint(a, 1);
  launch<sum_and_difference>(rig.device(), Grid::over(n), a, b, sum, difference);
  EXPECT_TRUE(root_of(sum).same_root(of_a));
  EXPECT_TRUE(root_of(difference).same_root(of_a));
  launch<sum_and_difference>(rig.device(), Grid::over(n), b, a, sum, difference);
  EXPECT_TRUE(root_of(sum).same_root(of_b));
}

TEST(FailureReports, TheFirstFailingArgumentGivesTheErrorAlsoInFlight) {
  const SimRig rig;
  const auto a = rig.poisoned(n), b = rig.poisoned(n), sum = rig.poisoned(n);
  const auto difference = rig.poisoned(n), source = rig.device().full<u32>(n, 1u);
  rig.hold(0);
  launch<reads_past>(rig.device(), whole, source, b);
  rig.next(SimRig::Call::fill, SimRig::Fault::late);
  a.fill(1);
  launch<sum_and_difference>(rig.device(), Grid::over(n), a, b, sum, difference);
  rig.issued();
  rig.release(0);
  EXPECT_TRUE(root_of(sum).same_root(root_of(a)));
  EXPECT_EQ(root_of(sum).kind(), ErrorKind::LaunchFailed);
  EXPECT_EQ(root_of(b).kind(), ErrorKind::KernelFault);
}

TEST(FailureReports, TheCountComesLast) {
  const SimRig rig;
  const auto count = rig.device().full<u32>(3, 1u), in = rig.poisoned(n), out = rig.poisoned(n);
  const Error of_count = taint(count, 3);
  const Error of_in = taint(in, 1);
  const DynamicGrid grid{count, {n, 1, 1}, {4, 1, 1}};
  launch<plus_one>(rig.device(), grid, in, out);
  EXPECT_TRUE(root_of(out).same_root(of_in));
  in.fill(1);
  out.fill(1);
  launch<plus_one>(rig.device(), grid, in, out);
  EXPECT_TRUE(root_of(out).same_root(of_count));
}

TEST(FailureReports, TheLowestOffsetGivesTheErrorOfABinding) {
  const SimRig rig;
  const auto all = rig.poisoned(n), out = rig.poisoned(n);
  const Error high = taint(all.slice(40, 8), 1);
  const Error low = taint(all.slice(8, 8), 2);
  EXPECT_TRUE(root_of(all).same_root(low));
  EXPECT_TRUE(root_of(all.slice(20, 44)).same_root(high));
  launch<plus_one>(rig.device(), Grid::over(n), all, out);
  EXPECT_TRUE(root_of(out).same_root(low));
}

// Several descriptors

TEST(FailureReports, EachOutputOfAFailureIsClaimedAndABadOneSparesNoOther) {
  const SimRig rig;
  const auto never = rig.device().alloc<u32>(std::uint64_t{1} << 45).slice(0, n);
  const auto a = rig.device().full<u32>(n, 1u), out = rig.poisoned(n);
  launch<sum_and_difference>(rig.device(), Grid::over(n), a, a, out, never);
  EXPECT_EQ(root_of(out).kind(), ErrorKind::TooLarge);
  EXPECT_EQ(root_of(never).kind(), ErrorKind::TooLarge);
}

TEST(FailureReports, WritesInARowAreAllAttempted) {
  const SimRig rig;
  const auto all = rig.poisoned(n);
  rig.next(SimRig::Call::upload, SimRig::Fault::fail);
  for (std::uint64_t i = 0; i < 4; ++i) all.slice(16 * i, 16).write(all_of(16, 9));
  EXPECT_EQ(root_of(all.slice(0, 16)).kind(), ErrorKind::LaunchFailed);
  EXPECT_EQ(values_of(all.slice(16, 48)), all_of(48, 9));
}

TEST(FailureReports, AReadOfSeveralRangesFailsWithTheFirstBadOne) {
  const SimRig rig;
  const auto a = rig.poisoned(n), b = rig.poisoned(n), c = rig.poisoned(n);
  const Error of_c = taint(c, 2);
  const Error of_b = taint(b, 1);
  server::CommandWriter<server::ReadCommand> command(0, SourceLoc::current(), 3);
  const auto state = std::make_shared<server::PendingState>();
  command->pending = rig.core().shared().pendings.insert(state);
  command->binding_count = 3;
  command.bindings()[0] = detail::binding_of(a.ref(), server::Access::in);
  command.bindings()[1] = detail::binding_of(b.ref(), server::Access::in);
  command.bindings()[2] = detail::binding_of(c.ref(), server::Access::in);
  rig.core().executor().push(command.header());
  rig.issued();
  ASSERT_TRUE(state->failure);
  EXPECT_TRUE(state->failure->same_root(of_b));
  EXPECT_TRUE(state->parts.empty());
}

// status, sync, flush

TEST(FailureReports, StatusIsNoVerdictOnWorkInFlight) {
  const SimRig rig;
  const auto source = rig.device().full<u32>(n, 1u), out = rig.poisoned(n);
  rig.ran();
  rig.hold(0);
  const Launched launched = launch<reads_past>(rig.device(), whole, source, out);
  rig.started();
  EXPECT_TRUE(launched.status());
  EXPECT_TRUE(out.status());
  EXPECT_TRUE(rig.stream(0).status());
  rig.release(0);
  EXPECT_FALSE(rig.device().sync());
  EXPECT_FALSE(out.status());
  EXPECT_FALSE(rig.stream(0).status());
  EXPECT_TRUE(rig.stream(1).status());
}

TEST(FailureReports, SyncWithoutFailuresSaysSo) {
  const SimRig rig;
  const Stream stream = rig.stream(1);
  EXPECT_TRUE(stream.sync());
  const auto out = rig.poisoned(n);
  launch<bump>(stream, Grid::over(n), out);
  EXPECT_TRUE(stream.sync());
  EXPECT_TRUE(rig.device().sync());
  EXPECT_TRUE(stream.sync(std::chrono::seconds(1)));
}

TEST(FailureReports, SyncGivesTheEarliestClaimAndConsumesNothing) {
  const SimRig rig;
  const Stream one = rig.stream(1), two = rig.stream(2);
  const auto a = rig.poisoned(n), b = rig.poisoned(n), c = rig.poisoned(n);
  rig.ran();
  b.write(two, all_of(n + 2, 1));
  a.write(one, all_of(n + 1, 1));
  c.write(two, all_of(n + 3, 1));
  const Error of_b = root_of(b), of_a = root_of(a), of_c = root_of(c);
  for (int twice = 0; twice < 2; ++twice) {
    EXPECT_TRUE(error_of(rig.device().sync()).root().same_root(of_b));
    EXPECT_TRUE(error_of(two.sync()).root().same_root(of_b));
    EXPECT_TRUE(error_of(one.sync()).root().same_root(of_a));
    EXPECT_TRUE(rig.stream(0).sync());
  }
  b.fill(two, 1);  // settled by the write, not by being told
  EXPECT_TRUE(error_of(two.sync()).root().same_root(of_c));
  EXPECT_TRUE(error_of(rig.device().sync()).root().same_root(of_a));
  EXPECT_TRUE(root_of(a).same_root(of_a));
}

TEST(FailureReports, SyncFindsWhatIsStillInFlight) {
  const SimRig rig;
  const Stream stream = rig.stream(1);
  const auto source = rig.device().full<u32>(n, 1u), out = rig.poisoned(n);
  rig.hold(1);
  launch<reads_past>(stream, whole, source, out);
  rig.started();
  rig.release(1);
  const Status synced = stream.sync();
  ASSERT_FALSE(synced);
  EXPECT_EQ(synced.error().kind(), ErrorKind::KernelFault);
  EXPECT_TRUE(synced.error().same_root(root_of(out)));
}

TEST(FailureReports, SyncKnowsNothingOfBuffersThatAreGone) {
  const SimRig rig;
  {
    const auto out = rig.poisoned(n);
    (void)taint(out, 1);
    EXPECT_FALSE(rig.device().sync());
  }
  rig.started();
  EXPECT_TRUE(rig.device().sync());
}

TEST(FailureReports, SyncWithADeadlineTimesOutAndTakesNothingAway) {
  const SimRig rig;
  const auto source = rig.device().full<u32>(n, 1u), out = rig.poisoned(n);
  rig.hold(0);
  launch<reads_past>(rig.device(), whole, source, out);
  const Status synced = rig.device().sync(std::chrono::milliseconds(5));
  ASSERT_FALSE(synced);
  EXPECT_EQ(synced.error().kind(), ErrorKind::Timeout);
  rig.release(0);
  EXPECT_EQ(error_of(rig.device().sync()).kind(), ErrorKind::KernelFault);
}

TEST(FailureReports, FlushStartsWorkAndReportsNothingOfIt) {
  const SimRig rig;
  const auto source = rig.device().full<u32>(n, 1u), out = rig.poisoned(n);
  (void)taint(rig.poisoned(n), 1);
  launch<reads_past>(rig.device(), whole, source, out);
  rig.stream(0).flush();  // returns nothing to look at
  rig.ran();
  EXPECT_EQ(rig.sim().history().size(), 4u);  // the fills and the launch
  EXPECT_EQ(root_of(out).kind(), ErrorKind::KernelFault);
}

TEST(FailureReports, FlushRunsDeferredReleases) {
  const SimRig rig;
  {
    const auto gone = rig.poisoned(n);
  }
  rig.stream(0).flush();
  rig.issued();
  EXPECT_EQ(rig.server([](server::Server& s) { return s.memory_usage().live; }), 0u);
}

// What an error says

TEST(FailureReports, TextHasKindValuesWhatWasBeingDoneAndTheRoot) {
  const SimRig rig;
  const auto x = rig.device().full<u32>(n, 1u), y = rig.poisoned(n), z = rig.poisoned(n);
  x.label("weights");
  launch<reads_past>(rig.device(), whole, x, y);
  (void)rig.device().sync();
  launch<plus_one>(rig.device(), Grid::over(n), y, z);
  const Error error = error_of(z);
  const std::string text = error.full();
  std::size_t at = 0;
  for (const std::string& part :
       {std::string("BufferFailed: "), std::string("caused by KernelFault: "),
        name_of<reads_past>(), std::string("read element 64"), std::string("\"weights\""),
        std::string("64 elements"), std::string("sim_kernels.hpp:"),
        std::string("failure_reports_test.cpp:"),
        "while skipping kernel " + name_of<plus_one>() + " launched at ",
        std::string("while reading it back at ")}) {
    const std::size_t found = text.find(part, at);
    EXPECT_NE(found, std::string::npos) << part << " (in this place) in\n" << text;
    if (found != std::string::npos) at = found;
  }
  EXPECT_EQ(error.root().kernel(), name_of<reads_past>());
  EXPECT_NE(error.root().where().line, 0u);
}

TEST(FailureReports, TextOfARefusalNamesItsPlaceAndValues) {
  const SimRig rig;
  const auto y = rig.poisoned(n);
  const SourceLoc here = SourceLoc::current();
  y.write(all_of(n + 1, 1), here);
  const Error root = root_of(y);
  EXPECT_EQ(root.where().line, here.line);
  EXPECT_EQ(root.message(), "260 bytes cannot be written to a buffer of 256 bytes.");
}

// An error names the call: also that of a launch with a dynamic count.
TEST(FailureReports, LaunchWithADynamicCountKnowsItsPlace) {
  const SimRig rig;
  const auto one = rig.device().full<u32>(3, 1u);
  const auto bad = rig.poisoned(n), out = rig.poisoned(n);
  bad.write(all_of(n + 1, 1));
  launch<plus_one>(rig.device(), DynamicGrid{one, {n, 1, 1}, {4, 1, 1}}, bad, out);
  const std::string text = error_of(out).full();
  EXPECT_TRUE(contains(text, "launched at ../../src/client/failure_reports_test.cpp:") ||
              contains(text, "launched at src/client/failure_reports_test.cpp:"))
      << text;
}

}  // namespace
}  // namespace tessera
