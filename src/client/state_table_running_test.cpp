// SPDX-License-Identifier: MIT OR Apache-2.0
// The rows of the failure table about what is found while the device runs: faults, late errors and
// the loss of the device.
#include "client/state_table.hpp"

namespace tessera {
namespace {

using namespace sim_kernels;

constexpr std::uint64_t n = 64;
const Grid whole({1, 1, 1}, {n, 1, 1});

/// A failing writer of bytes, in one of the ways in which that comes to light while running.
class Running : public testing::TestWithParam<SimRig::Call> {
 protected:
  /// A chain is issued while nothing runs: all of it is in flight when the failure is found.
  Running() { rig_.hold(0); }

  void fail_into(const Buffer<u32>& out) {
    const auto clean = rig_.device().full<u32>(n, 1u);
    if (GetParam() == SimRig::Call::submit) {  // none of the operations: a fault of the kernel
      launch<reads_past>(rig_.device(), whole, clean, out);
      return;
    }
    if (GetParam() == SimRig::Call::launch) {
      rig_.next(SimRig::Call::launch, SimRig::Fault::late);
      launch<plus_one>(rig_.device(), Grid::over(n), clean, out);
      return;
    }
    rig_.next(GetParam(), SimRig::Fault::late);
    if (GetParam() == SimRig::Call::fill) {
      out.fill(1);
    } else if (GetParam() == SimRig::Call::upload) {
      out.write(all_of(n, 1));
    } else {
      out.copy_from(clean);
    }
  }
  void expect_failed(const Buffer<u32>& buffer) {
    rig_.issued();
    rig_.release(0);
    const Error error = error_of(buffer);
    const bool fault = GetParam() == SimRig::Call::submit;
    EXPECT_EQ(error.root().kind(), fault ? ErrorKind::KernelFault : ErrorKind::LaunchFailed);
    EXPECT_TRUE(contains(error.root().message(), fault ? "read element 64" : "spoiled operation"))
        << error.full();
    if (first_) {
      EXPECT_TRUE(error.same_root(*first_) || error.root().same_root(*first_)) << error.full();
    } else {
      first_ = error.root();
    }
  }
  void expect_values(const Buffer<u32>& buffer, u32 value) {
    rig_.issued();
    rig_.release(0);
    EXPECT_EQ(values_of(buffer), all_of(n, value));
    EXPECT_TRUE(buffer.status());
  }

  SimRig rig_;
  std::optional<Error> first_;
};

std::string way_name(const testing::TestParamInfo<SimRig::Call>& way) {
  if (way.param == SimRig::Call::submit) return "Fault";
  return "Late_" + std::string(to_string(way.param));
}
INSTANTIATE_TEST_SUITE_P(Found, Running,
                         testing::Values(SimRig::Call::submit, SimRig::Call::launch,
                                         SimRig::Call::copy, SimRig::Call::fill,
                                         SimRig::Call::upload),
                         way_name);

TEST_P(Running, OutputsOfTheEntryAndOfAllThatDependedOnItFail) {
  const auto a = rig_.poisoned(n), b = rig_.poisoned(n), c = rig_.poisoned(n), d = rig_.poisoned(n);
  const auto sum = rig_.poisoned(n), difference = rig_.poisoned(n);
  fail_into(a);
  b.copy_from(a);
  launch<plus_one>(rig_.device(), Grid::over(n), b, c);
  launch<add_into>(rig_.device(), Grid::over(n), c, d);
  launch<sum_and_difference>(rig_.device(), Grid::over(n), d, a, sum, difference);
  for (const auto& x : {a, b, c, d, sum, difference}) expect_failed(x);
}

TEST_P(Running, WhatCameBeforeItAndWhatDidNotReadItIsSound) {
  const auto early = rig_.poisoned(n), out = rig_.poisoned(n), late = rig_.poisoned(n);
  out.fill(3);
  early.copy_from(out);
  fail_into(out);
  launch<sevens>(rig_.device(), Grid::over(n), late);
  expect_failed(out);
  expect_values(early, 3);
  expect_values(late, 7);
}

TEST_P(Running, HostWriteAfterItStaysClean) {
  const auto out = rig_.poisoned(n), kept = rig_.poisoned(n), used = rig_.poisoned(n);
  fail_into(out);
  kept.copy_from(out);
  out.write(all_of(n, 9));
  launch<plus_one>(rig_.device(), Grid::over(n), out, used);
  expect_failed(kept);
  expect_values(out, 9);
  expect_values(used, 10);
}

TEST_P(Running, FillAfterItStaysClean) {
  const auto out = rig_.poisoned(n), kept = rig_.poisoned(n);
  fail_into(out);
  kept.copy_from(out);
  out.fill(9);
  expect_values(out, 9);
  expect_failed(kept);
}

TEST_P(Running, CleanCopyAfterItStaysClean) {
  const auto out = rig_.poisoned(n), kept = rig_.poisoned(n), source = rig_.poisoned(n);
  source.fill(9);
  fail_into(out);
  kept.copy_from(out);
  rig_.issued();  // a copy was to fail: this one is not it
  out.copy_from(source);
  expect_failed(kept);
  expect_values(out, 9);
}

TEST_P(Running, StaticLaunchOutputAfterItStaysClean) {
  const auto out = rig_.poisoned(n), kept = rig_.poisoned(n);
  fail_into(out);
  kept.copy_from(out);
  launch<sevens>(rig_.device(), Grid::over(n), out);
  expect_failed(kept);
  expect_values(out, 7);
}

TEST_P(Running, DynamicLaunchOutputAfterItStaysFailed) {
  const auto out = rig_.poisoned(n);
  const auto one = rig_.device().full<u32>(3, 1u);
  fail_into(out);
  launch<sevens>(rig_.device(), DynamicGrid{one, {n, 1, 1}, {4, 1, 1}}, out);
  expect_failed(out);
}

TEST_P(Running, OverwriteThatDependsOnItselfFailsToo) {
  const auto out = rig_.poisoned(n), middle = rig_.poisoned(n);
  fail_into(out);
  middle.copy_from(out);
  out.copy_from(middle);  // a full overwrite, of nothing good
  expect_failed(out);
}

TEST_P(Running, PartOfItThatIsOverwrittenIsCleanAndTheRestIsNot) {
  const auto out = rig_.poisoned(n);
  fail_into(out);
  out.slice(16, 16).fill(9);
  expect_failed(out.slice(0, 16));
  expect_failed(out.slice(32, 32));
  expect_failed(out);
  EXPECT_EQ(values_of(out.slice(16, 16)), all_of(16, 9));
  EXPECT_FALSE(out.slice(15, 2).to_vector());
  EXPECT_FALSE(out.slice(31, 2).to_vector());
}

TEST_P(Running, SecondFailureAfterACleanOverwriteHasARootOfItsOwn) {
  const auto out = rig_.poisoned(n), kept = rig_.poisoned(n);
  fail_into(out);
  kept.copy_from(out);
  out.fill(9);
  out.write(all_of(n + 1, 1));
  expect_failed(kept);
  const Error root = root_of(out);
  EXPECT_EQ(root.kind(), ErrorKind::InvalidArgument) << root.full();
}

TEST_P(Running, RefusalAfterItReplacesItsReasonAndIsNotReplacedByIt) {
  const auto out = rig_.poisoned(n), kept = rig_.poisoned(n);
  fail_into(out);
  kept.copy_from(out);
  out.write(all_of(n + 1, 1));
  expect_failed(kept);  // the fault is found after the refusal was recorded
  EXPECT_EQ(root_of(out).kind(), ErrorKind::InvalidArgument);
}

TEST_P(Running, StaticLaunchThatIsSkippedAfterItLeavesTheReasonOfTheSkip) {
  const auto out = rig_.poisoned(n), kept = rig_.poisoned(n), bad = rig_.poisoned(n);
  bad.write(all_of(n + 1, 1));
  fail_into(out);
  kept.copy_from(out);
  launch<plus_one>(rig_.device(), Grid::over(n), bad, out);
  expect_failed(kept);
  EXPECT_EQ(root_of(out).kind(), ErrorKind::InvalidArgument);
}

TEST_P(Running, DynamicLaunchThatIsSkippedAfterItLeavesItsReason) {
  const auto out = rig_.poisoned(n), bad = rig_.poisoned(n);
  const auto one = rig_.device().full<u32>(3, 1u);
  bad.write(all_of(n + 1, 1));
  fail_into(out);
  // `bad` is known to be bad and `out` is not yet; in the order of the calls both are.
  launch<plus_one>(rig_.device(), DynamicGrid{one, {n, 1, 1}, {4, 1, 1}}, bad, out);
  rig_.issued();
  rig_.release(0);
  EXPECT_FALSE(rig_.device().sync());  // both are known now
  expect_failed(out);
}

TEST(StateTableLoss, WhatWasInFlightIsVoidAndTheRestUnreachableWithTheFirstRoot) {
  SimRig rig;
  const auto intact = rig.poisoned(n), written = rig.poisoned(n), old = rig.poisoned(n);
  intact.fill(5);
  old.write(all_of(n + 1, 1));
  rig.ran();
  rig.hold(0);
  launch<sevens>(rig.device(), Grid::over(n), written);
  auto pending = intact.download();
  rig.started();
  rig.sim().lose("The cable was pulled.");

  for (const auto& x : {written, intact}) {
    const Error error = error_of(x);
    EXPECT_EQ(error.root().kind(), ErrorKind::DeviceLost) << error.full();
    EXPECT_EQ(error.root().message(), "The cable was pulled.");
    EXPECT_FALSE(x.status());
    EXPECT_EQ(error_of(x.status()).root().message(), "The cable was pulled.");
  }
  const auto got = std::move(pending).get();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().root().message(), "The cable was pulled.");
  // A reason from before the loss still comes first.
  EXPECT_EQ(root_of(old).kind(), ErrorKind::InvalidArgument);
}

TEST(StateTableLoss, EverythingAfterItIsTheSameLoss) {
  SimRig rig;
  const auto before = rig.device().full<u32>(n, 5u);
  rig.ran();
  rig.sim().lose("The cable was pulled.");
  const Error first = root_of(before);
  const auto fresh = rig.device().full<u32>(n, 1u);
  const auto out = rig.poisoned(n);
  launch<plus_one>(rig.device(), Grid::over(n), fresh, out);
  out.copy_from(fresh);
  before.fill(3);
  for (const auto& x : {before, fresh, out, fresh.clone()}) {
    const Error error = error_of(x);
    EXPECT_EQ(error.root().kind(), ErrorKind::DeviceLost) << error.full();
    EXPECT_TRUE(error.root().same_root(first)) << error.full();
  }
  for (const Status& status : {rig.device().sync(), rig.stream(3).sync(), rig.stream(0).status()}) {
    ASSERT_FALSE(status);
    EXPECT_TRUE(status.error().root().same_root(first)) << status.error().full();
  }
}

TEST(StateTableLoss, TrapWhileRunningVoidsItAndItsDependants) {
  SimRig rig;
  const auto out = rig.poisoned(n), next = rig.poisoned(n);
  rig.ran();
  rig.hold(0);
  rig.next(SimRig::Call::launch, SimRig::Fault::trap);
  launch<sevens>(rig.device(), Grid::over(n), out);
  launch<plus_one>(rig.device(), Grid::over(n), out, next);
  rig.started();
  rig.release(0);
  const Error first = root_of(next);
  EXPECT_EQ(first.kind(), ErrorKind::DeviceLost);
  EXPECT_TRUE(contains(first.message(), "sevens")) << first.full();
  EXPECT_TRUE(contains(first.message(), "trapped: illegal address")) << first.full();
  EXPECT_TRUE(root_of(out).same_root(first));
}

TEST(StateTableLoss, LossAtACallFailsWhatTheCallWasFor) {
  SimRig rig;
  const auto out = rig.poisoned(n), bystander = rig.poisoned(n);
  rig.ran();
  rig.next(SimRig::Call::launch, SimRig::Fault::lose);
  launch<sevens>(rig.device(), Grid::over(n), out);
  const Error first = root_of(out);
  EXPECT_EQ(first.kind(), ErrorKind::DeviceLost) << first.full();
  EXPECT_TRUE(root_of(bystander).same_root(first));
}

TEST(StateTableLoss, BytesWrittenAndSeenBeforeItAreNotVoid) {
  SimRig rig;
  const auto seen = rig.device().full<u32>(n, 5u);
  EXPECT_EQ(values_of(seen), all_of(n, 5));
  rig.sim().lose("The cable was pulled.");
  rig.server([&](server::Server& s) { s.inspect(); });
  // Unreachable, which is no claim on them.
  rig.server([&](server::Server& s) {
    const auto error = s.check(detail::binding_of(seen.ref(), server::Access::in));
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), ErrorKind::DeviceLost);
    EXPECT_TRUE(error->context().empty());
  });
  const Error error = error_of(seen);
  EXPECT_EQ(error.kind(), ErrorKind::DeviceLost) << error.full();
}

TEST(StateTableLoss, HandlesThatDieAfterItLeaveNothing) {
  SimRig rig;
  {
    const auto a = rig.device().full<u32>(n, 5u), b = rig.poisoned(n);
    rig.hold(0);
    launch<plus_one>(rig.device(), Grid::over(n), a, b);
    rig.started();
    rig.sim().lose("The cable was pulled.");
    const auto c = b.clone();
    EXPECT_FALSE(c.to_vector());
  }
  rig.started();
  EXPECT_EQ(rig.server([](server::Server& s) { return s.memory_usage().live; }), 0u);
}

}  // namespace
}  // namespace tessera
