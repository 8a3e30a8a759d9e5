// SPDX-License-Identifier: MIT OR Apache-2.0
// The columns of the failure table as a fixture: bytes that are clean, tainted in each way in which
// that comes about, or were never allocated.
//
// Each row of the table is a test that runs for every column. Of the hidden columns nothing is
// known when the row's event is issued: the device has not run yet, and what the event did must be
// put right when the fault comes to light.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "client/sim_kernels.hpp"
#include "client/sim_rig.hpp"

namespace tessera {

enum class Column : std::uint8_t {
  clean,
  refused,      // by the client
  failed,       // by the driver, when it was enqueued
  late,         // by the driver, when it should have run
  fault,        // in a kernel
  hidden_late,  // the same two, not found yet
  hidden_fault,
  never,  // there is no memory
};

inline std::string column_name(const testing::TestParamInfo<Column>& info) {
  constexpr const char* names[] = {"Clean", "Refused",    "Failed",      "Late",
                                   "Fault", "HiddenLate", "HiddenFault", "NeverAllocated"};
  return names[static_cast<std::size_t>(info.param)];
}

class StateTable : public testing::TestWithParam<Column> {
 protected:
  static constexpr std::uint64_t n = 64;  // elements of the bytes in question
  static constexpr u32 before = 41;       // what they hold where they are clean

  // The bytes of the column and what lies on both sides of them.
  struct Cell {
    Buffer<u32> bytes;
    Buffer<u32> around;   // three times as long; no device where never allocated
    Buffer<u32> witness;  // holds the root where there is one
  };

  static driver::SimOptions options() {
    driver::SimOptions o;
    o.uncompilable = sim_kernels::name_of<sim_kernels::writes_first_of_two>();
    return o;
  }

  static bool clean() { return GetParam() == Column::clean; }
  static bool never() { return GetParam() == Column::never; }
  static bool hidden() {
    return GetParam() == Column::hidden_late || GetParam() == Column::hidden_fault;
  }

  Cell cell() {
    Cell c;
    if (never()) {
      c.bytes = rig_.device().alloc<u32>(std::uint64_t{1} << 45).slice(0, n);
    } else {
      c.around = rig_.poisoned(3 * n);
      c.bytes = c.around.slice(n, n);
      c.bytes.fill(before);
    }
    if (hidden()) {
      rig_.ran();
      rig_.hold(0);
    }
    switch (GetParam()) {
      case Column::clean:
      case Column::never:
        break;
      case Column::refused:
        c.bytes.write(all_of(n + 1, 1));
        break;
      case Column::failed:
        rig_.next(SimRig::Call::fill, SimRig::Fault::fail);
        c.bytes.fill(1);
        break;
      case Column::late:
      case Column::hidden_late:
        rig_.next(SimRig::Call::fill, SimRig::Fault::late);
        c.bytes.fill(1);
        break;
      case Column::fault:
      case Column::hidden_fault: {
        const auto source = rig_.device().full<u32>(n, 1u);
        launch<sim_kernels::reads_past>(rig_.device(), Grid({1, 1, 1}, {n, 1, 1}), source, c.bytes);
        break;
      }
    }
    c.witness = rig_.poisoned(n);
    if (!clean()) c.witness.copy_from(c.bytes);
    rig_.issued();
    if (GetParam() == Column::late || GetParam() == Column::fault) (void)root_of(c.witness);
    EXPECT_EQ(static_cast<bool>(c.bytes.status()), clean() || hidden());
    return c;
  }

  /// Lets the device run, once all that was issued has met a device that stood still.
  void settle() {
    rig_.issued();
    rig_.release_all();
  }

  std::vector<u32> values(const Buffer<u32>& buffer) {
    settle();
    return values_of(buffer);
  }

  /// The buffer fails with the root of the column.
  void expect_root(const Buffer<u32>& buffer, const Cell& c) {
    settle();
    const Error error = error_of(buffer);
    const Error root = error.root();
    EXPECT_TRUE(root.same_root(root_of(c.witness))) << error.full();
    ErrorKind kind{};
    std::string part;
    switch (GetParam()) {
      case Column::clean:
        ADD_FAILURE() << "clean bytes have no root";
        break;
      case Column::refused:
        kind = ErrorKind::InvalidArgument;
        part = "260 bytes cannot be written to a buffer of 256 bytes";
        break;
      case Column::failed:
        kind = ErrorKind::LaunchFailed;
        part = "the call was refused";
        break;
      case Column::late:
      case Column::hidden_late:
        kind = ErrorKind::LaunchFailed;
        part = "spoiled operation";
        break;
      case Column::fault:
      case Column::hidden_fault:
        kind = ErrorKind::KernelFault;
        part = "read element 64 of buffer 0";
        break;
      case Column::never:
        kind = ErrorKind::TooLarge;
        part = "than the 1073741824 bytes";
        break;
    }
    EXPECT_EQ(root.kind(), kind) << error.full();
    EXPECT_TRUE(contains(root.message(), part)) << error.full();
    EXPECT_TRUE(contains(error.full(), root.message()));
    EXPECT_EQ(error.kind(), ErrorKind::BufferFailed);
  }

  /// The buffer fails with a new reason of the event.
  Error expect_new_root(const Buffer<u32>& buffer, const Cell& c, ErrorKind kind,
                        const std::string& part) {
    settle();
    const Error error = error_of(buffer);
    EXPECT_EQ(error.root().kind(), kind) << error.full();
    EXPECT_TRUE(contains(error.root().message(), part)) << error.full();
    if (!clean()) {
      EXPECT_FALSE(error.root().same_root(root_of(c.witness))) << error.full();
    }
    return error;
  }

  /// As a failure F leaves the bytes of the column: T(F), where there is memory.
  void expect_failed_with(const Cell& c, ErrorKind kind, const std::string& part) {
    if (never()) {
      expect_root(c.bytes, c);
    } else {
      (void)expect_new_root(c.bytes, c, kind, part);
    }
    expect_neighbours(c);
  }

  /// Nothing on either side was touched or tainted.
  void expect_neighbours(const Cell& c) {
    if (never()) return;
    settle();
    EXPECT_EQ(values_of(c.around.slice(0, n)), all_of(n, poison));
    EXPECT_EQ(values_of(c.around.slice(2 * n, n)), all_of(n, poison));
  }

  /// As an event that changes nothing leaves the bytes.
  void expect_unchanged(const Cell& c) {
    if (clean()) {
      EXPECT_EQ(values(c.bytes), all_of(n, before));
    } else {
      expect_root(c.bytes, c);
    }
    expect_neighbours(c);
  }

  /// As a write of `value` leaves the bytes: clean, where there is memory.
  void expect_written(const Cell& c, u32 value) {
    if (never()) {
      expect_root(c.bytes, c);
    } else {
      EXPECT_EQ(values(c.bytes), all_of(n, value));
      EXPECT_TRUE(c.bytes.status());
    }
    if (!clean()) expect_root(c.witness, c);  // what was read before stays failed
    expect_neighbours(c);
  }

  SimRig rig_{options()};
};

#define TESSERA_STATE_TABLE(suite)                                                                 \
  INSTANTIATE_TEST_SUITE_P(                                                                        \
      Columns, suite,                                                                              \
      testing::Values(Column::clean, Column::refused, Column::failed, Column::late, Column::fault, \
                      Column::hidden_late, Column::hidden_fault, Column::never),                   \
      column_name)

}  // namespace tessera
