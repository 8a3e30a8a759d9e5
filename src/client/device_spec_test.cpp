// SPDX-License-Identifier: MIT OR Apache-2.0
#include "client/device_spec.hpp"

#include <gtest/gtest.h>

namespace tessera::client {
namespace {

DeviceSpec spec(DeviceFamily family) {
  DeviceSpec s;
  s.family = family;
  return s;
}

TEST(DeviceSpec, FamiliesStandAlone) {
  EXPECT_EQ(parse_device_spec("auto").value(), spec(DeviceFamily::automatic));
  EXPECT_EQ(parse_device_spec("gpu").value(), spec(DeviceFamily::gpu));
  EXPECT_EQ(parse_device_spec("cpu").value(), spec(DeviceFamily::cpu));
}

TEST(DeviceSpec, WebgpuTakesIndexOrName) {
  EXPECT_EQ(parse_device_spec("webgpu:2").value().index, 2u);
  EXPECT_EQ(parse_device_spec("webgpu:name=NVIDIA H200, PCIe").value().name, "NVIDIA H200, PCIe");
}

TEST(DeviceSpec, SimulatorTakesSeedAndQueues) {
  const DeviceSpec s = parse_device_spec("sim:seed=7,queues=3").value();
  EXPECT_EQ(s.seed, 7u);
  EXPECT_EQ(s.queues, 3u);
}

TEST(DeviceSpec, RefusalsNameThePartAndWhatIsKnown) {
  for (const char* text : {"", "cuba", "webgpu:", "webgpu:x", "webgpu:name=", "sim:seed=-1",
                           "sim:queues=0", "sim:queues=129", "cpu:1", "auto:1", "sim:seed=1,"}) {
    const Result<DeviceSpec> r = parse_device_spec(text);
    ASSERT_FALSE(r.has_value()) << text;
    EXPECT_EQ(r.error().kind(), ErrorKind::InvalidArgument);
    EXPECT_NE(r.error().message().find("webgpu:INDEX"), std::string::npos);
  }
}

}  // namespace
}  // namespace tessera::client
