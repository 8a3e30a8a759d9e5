// SPDX-License-Identifier: MIT OR Apache-2.0
// A software adapter must never be taken where a real one is, whatever the order of the list.
#include "driver/webgpu/adapters.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::driver {
namespace {

AdapterInfo adapter(std::string name, DeviceKind kind, std::string unusable = "") {
  AdapterInfo a;
  a.name = std::move(name);
  a.kind = kind;
  a.unusable = std::move(unusable);
  return a;
}

TEST(Adapters, BestKindInEveryOrder) {
  std::vector<AdapterInfo> list = {
      adapter("a cpu", DeviceKind::software), adapter("b integrated", DeviceKind::integrated),
      adapter("c discrete", DeviceKind::discrete), adapter("d virtual", DeviceKind::virtual_gpu)};
  const auto by_name = [](const AdapterInfo& x, const AdapterInfo& y) { return x.name < y.name; };
  do {
    std::vector<AdapterInfo> left = list;
    for (const DeviceKind want : {DeviceKind::discrete, DeviceKind::integrated,
                                  DeviceKind::virtual_gpu, DeviceKind::software}) {
      const std::size_t chosen = select_adapter(left, std::nullopt, "").value();
      ASSERT_EQ(left[chosen].kind, want);
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(chosen));
    }
  } while (std::next_permutation(list.begin(), list.end(), by_name));
}

TEST(Adapters, TwinsKeepTheirPlaces) {
  const std::vector<AdapterInfo> list = {adapter("twin", DeviceKind::discrete),
                                         adapter("twin", DeviceKind::discrete)};
  EXPECT_EQ(select_adapter(list, std::nullopt, "").value(), 0u);
  EXPECT_EQ(select_adapter(list, 1, "").value(), 1u);
  EXPECT_EQ(select_adapter(list, std::nullopt, "TWIN").value(), 0u);
}

TEST(Adapters, UnusableOnesAreSteppedOver) {
  const std::vector<AdapterInfo> list = {adapter("big", DeviceKind::discrete, "lacks a limit"),
                                         adapter("cpu", DeviceKind::software)};
  EXPECT_EQ(select_adapter(list, std::nullopt, "").value(), 1u);
  const Error e = select_adapter(list, 0, "").error();
  EXPECT_EQ(e.kind(), ErrorKind::BackendUnavailable);
  EXPECT_NE(e.message().find("lacks a limit"), std::string::npos);
}

TEST(Adapters, RefusalsSayWhatThereIs) {
  EXPECT_EQ(select_adapter({}, std::nullopt, "").error().kind(), ErrorKind::BackendUnavailable);
  const std::vector<AdapterInfo> list = {adapter("one", DeviceKind::discrete)};
  for (const Error& e :
       {select_adapter(list, 3, "").error(), select_adapter(list, std::nullopt, "two").error()}) {
    EXPECT_EQ(e.kind(), ErrorKind::InvalidArgument);
    EXPECT_NE(e.message().find("one"), std::string::npos);
  }
}

}  // namespace
}  // namespace tessera::driver
