// SPDX-License-Identifier: MIT OR Apache-2.0
// The fixture of the conformance suite: one test body, every device of the driver under test.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/lang/dollar.hpp"
#include "tessera/tessera.hpp"

namespace tessera::conformance {

/// Devices that the program was started for; filled before the tests are made.
std::vector<std::string>& specs();

/// A readable name of a device for test names.
std::string test_name(const testing::TestParamInfo<std::string>& info);

/// The opened device of a spec; opened once. Simulators are kept, with their checkers.
const Device& device_of(const std::string& spec);

class OnDevice : public testing::TestWithParam<std::string> {
 protected:
  const Device& device() const { return device_of(GetParam()); }
  bool webgpu() const { return device().properties().driver == "webgpu"; }

  /// The elements, or a failed test.
  template <class T>
  static std::vector<T> read(const Buffer<T>& buffer) {
    Result<std::vector<T>> values = buffer.to_vector();
    EXPECT_TRUE(values.has_value()) << (values ? "" : values.error().full());
    return values ? *values : std::vector<T>();
  }
  template <class T>
  Buffer<T> up(const std::vector<T>& values) const {
    return device().upload(values);
  }
  /// What an operation that never ran would leave behind.
  Buffer<u32> poisoned(std::uint64_t n) const { return device().full<u32>(n, 0xdeadbeefu); }
  Buffer<i32> poisoned_i32(std::uint64_t n) const { return device().full<i32>(n, -559038737); }
  Buffer<f32> poisoned_f32(std::uint64_t n) const { return device().full<f32>(n, -12345.5f); }
};

#define TESSERA_ON_DEVICES(suite)                                                  \
  INSTANTIATE_TEST_SUITE_P(Devices, suite, testing::ValuesIn(specs()), test_name); \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(suite)

}  // namespace tessera::conformance
