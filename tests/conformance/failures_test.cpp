// SPDX-License-Identifier: MIT OR Apache-2.0
// A failure belongs to the bytes that it left unwritten.
#include "conformance/on_device.hpp"

namespace tessera::conformance {
namespace {

class Failures : public OnDevice {
 protected:
  template <class T>
  static Error root_of(const Buffer<T>& buffer) {
    const auto values = buffer.to_vector();
    EXPECT_FALSE(values.has_value());
    return values ? Error(ErrorKind::Io, "no failure") : values.error().root();
  }
};
TESSERA_ON_DEVICES(Failures);

constexpr u32 reads_past_line = __LINE__ + 2;  // of its body
void reads_past(In<u32> x, Out<u32> y) {
  y[absolute_pos] = x[absolute_pos + 1];
}
void plus_one(In<u32> x, Out<u32> y) {
  $if(absolute_pos < y.len()) {
    y[absolute_pos] = x.load_or(absolute_pos, 0u) + 1;
  }
}
void checks(In<u32> x, Out<u32> y) {
  check(x[absolute_pos] < 100, "values are below 100");
  y[absolute_pos] = x[absolute_pos];
}
void writes_past(Out<u32> y) {
  y[absolute_pos + 1] = 7u;
}

TEST_P(Failures, FaultNamesKernelElementBufferAndLine) {
  const auto x = up(std::vector<u32>(8, 1)), y = poisoned(8);
  x.label("input");
  launch<reads_past>(device(), Grid({1, 1, 1}, {8, 1, 1}), x, y);
  const Error root = root_of(y);
  EXPECT_EQ(root.kind(), ErrorKind::KernelFault);
  for (const std::string& part :
       {std::string("reads_past"), std::string("element 8"), std::string("\"input\""),
        std::string("8 elements"), "failures_test.cpp:" + std::to_string(reads_past_line)}) {
    EXPECT_NE(root.message().find(part), std::string::npos) << part << " in " << root.message();
  }
  EXPECT_EQ(read(x), std::vector<u32>(8, 1));  // nobody else notices
}

TEST_P(Failures, FaultTravelsThroughCopiesAndLaunchesAndHeals) {
  const auto x = up(std::vector<u32>(8, 1)), y = poisoned(8), z = poisoned(8), w = poisoned(8);
  launch<reads_past>(device(), Grid({1, 1, 1}, {8, 1, 1}), x, y);
  z.copy_from(y);
  launch<plus_one>(device(), Grid::over(8), z, w);
  const Error first = root_of(w);
  EXPECT_TRUE(first.same_root(root_of(y)));
  EXPECT_TRUE(first.same_root(root_of(z)));
  launch<plus_one>(device(), Grid::over(8), y, z);  // skipped: y is known to be tainted now
  EXPECT_TRUE(first.same_root(root_of(z)));
  y.write(std::vector<u32>(8, 5));
  launch<plus_one>(device(), Grid::over(8), y, z);
  EXPECT_EQ(read(z), std::vector<u32>(8, 6));
  EXPECT_EQ(root_of(w).kind(), ErrorKind::KernelFault);  // still unwritten
}

TEST_P(Failures, OverwriteIssuedBeforeTheFaultIsKnownStaysClean) {
  const auto x = up(std::vector<u32>(8, 1)), y = poisoned(8), kept = poisoned(8);
  launch<reads_past>(device(), Grid({1, 1, 1}, {8, 1, 1}), x, y);
  kept.copy_from(y);
  y.fill(9);
  EXPECT_EQ(read(y), std::vector<u32>(8, 9));
  EXPECT_EQ(root_of(kept).kind(), ErrorKind::KernelFault);
}

TEST_P(Failures, StoresOutsideAreFaultsAndTouchNothing) {
  const auto all = poisoned(16);
  launch<writes_past>(device(), Grid({1, 1, 1}, {8, 1, 1}), all.slice(0, 8));
  EXPECT_EQ(root_of(all.slice(0, 8)).kind(), ErrorKind::KernelFault);
  EXPECT_EQ(read(all.slice(8, 8)), std::vector<u32>(8, 0xdeadbeefu));
}

TEST_P(Failures, FailedCheckCarriesItsMessage) {
  const auto y = poisoned(4);
  launch<checks>(device(), Grid({1, 1, 1}, {4, 1, 1}), up(std::vector<u32>{1, 2, 300, 4}), y);
  EXPECT_NE(root_of(y).message().find("values are below 100"), std::string::npos);
}

TEST_P(Failures, ClaimsKnowTheirBytes) {
  const auto all = device().full<u32>(100, 3u);
  all.slice(40, 10).write(std::vector<u32>(11, 1));  // refused: too long
  EXPECT_FALSE(all.to_vector());
  EXPECT_EQ(read(all.slice(0, 40)), std::vector<u32>(40, 3));
  EXPECT_EQ(root_of(all.slice(49, 2)).kind(), ErrorKind::InvalidArgument);
  all.slice(40, 5).write(std::vector<u32>(5, 8));
  EXPECT_EQ(read(all.slice(0, 45)).back(), 8u);
  EXPECT_FALSE(all.slice(45, 1).to_vector());
}

TEST_P(Failures, KernelsThatDoNotTraceFailTheirOutputs) {
  const auto y = poisoned(4);
  const auto kernel = [](Out<u32> out) {
    $if(unit_pos < 2) {
      sync_cube();
    }
    out[unit_pos] = 1u;
  };
  EXPECT_FALSE(launch(device(), Grid({1, 1, 1}, {4, 1, 1}), kernel, y).status());
  EXPECT_EQ(root_of(y).kind(), ErrorKind::CompileFailed);
}

TEST_P(Failures, MemoryThatCannotBeIsSaidByEveryReader) {
  const auto huge = device().alloc<u32>(std::uint64_t{1} << 45);
  EXPECT_EQ(root_of(huge).kind(), ErrorKind::TooLarge);
  huge.fill(1);  // nowhere to write: the reason stays
  EXPECT_EQ(root_of(huge).kind(), ErrorKind::TooLarge);
  const auto y = poisoned(4);
  launch<plus_one>(device(), Grid::over(4), huge.slice(0, 64), y);
  EXPECT_EQ(root_of(y).kind(), ErrorKind::TooLarge);
}

// Past the end every element reads as zero, so that these two would go round for ever.
void walks_off(In<u32> x, Out<u32> y) {
  Var<u32> at = 0u;
  $while(x[at] != 1) {
    at += 1u;
  }
  y[absolute_pos] = at;
}
void walks_off_together(In<u32> x, Out<u32> y) {
  Shared<u32> found(1);
  $if(unit_pos == 0) {
    found[0] = 0u;
  }
  Var<u32> at = 0u;
  $while(uniform_load(found, 0u) == 0) {
    sync_cube();
    $if(unit_pos == 0) {
      $if(x[at] == 1) {
        found[0] = 1u;
      }
    }
    at += 1u;
  }
  y[absolute_pos] = at;
}

TEST_P(Failures, AUnitThatFaultedLeavesItsLoops) {
  std::vector<u32> values(64, 5);
  const auto y = poisoned(8);
  launch<walks_off>(device(), Grid({1, 1, 1}, {8, 1, 1}), up(values), y);
  EXPECT_EQ(root_of(y).kind(), ErrorKind::KernelFault);
  values[20] = 1;
  launch<walks_off>(device(), Grid({1, 1, 1}, {8, 1, 1}), up(values), y);
  EXPECT_EQ(read(y), std::vector<u32>(8, 20));
}

TEST_P(Failures, ACubeThatFaultedLeavesItsLoopsWithBarriersTogether) {
  std::vector<u32> values(64, 5);
  const auto y = poisoned(32);
  launch<walks_off_together>(device(), Grid({4, 1, 1}, {8, 1, 1}), up(values), y);
  EXPECT_EQ(root_of(y).kind(), ErrorKind::KernelFault);
  values[20] = 1;
  launch<walks_off_together>(device(), Grid({4, 1, 1}, {8, 1, 1}), up(values), y);
  EXPECT_EQ(read(y), std::vector<u32>(32, 21));
}

TEST_P(Failures, SyncReportsTheEarliestClaimAndConsumesNothing) {
  const Stream stream = device().new_stream();
  EXPECT_TRUE(stream.sync());
  const auto y = poisoned(8);
  launch<writes_past>(stream, Grid({1, 1, 1}, {8, 1, 1}), y);
  ASSERT_FALSE(stream.sync());
  EXPECT_EQ(stream.sync().error().kind(), ErrorKind::KernelFault);
  EXPECT_FALSE(y.status());
  y.fill(1);
  EXPECT_EQ(read(y), std::vector<u32>(8, 1));
  EXPECT_TRUE(y.status());
}

TEST_P(Failures, BuffersOfOtherDevicesAreRefused) {
  const Device other = open("sim:seed=9").value();
  const auto x = other.full<u32>(8, 1u);
  const auto y = poisoned(8);
  EXPECT_FALSE(launch<plus_one>(device(), Grid::over(8), x, y).status());
  EXPECT_EQ(root_of(y).kind(), ErrorKind::InvalidArgument);
}

}  // namespace
}  // namespace tessera::conformance
