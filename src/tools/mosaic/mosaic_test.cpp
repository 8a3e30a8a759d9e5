// SPDX-License-Identifier: MIT OR Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "client/device_core.hpp"
#include "driver/sim/sim_driver.hpp"
#include "tools/mosaic/control.hpp"
#include "tools/mosaic/device_run.hpp"
#include "tools/mosaic/picture_io.hpp"

namespace tessera::mosaic {
namespace {

Picture noise(std::uint32_t width, std::uint32_t height) {
  Picture p{width, height, {}};
  std::uint32_t state = 12345;
  for (std::uint32_t i = 0; i < width * height; ++i) {
    state = state * 1664525u + 1013904223u;
    p.pixels.push_back((state >> 8) & 0xffffffu);
  }
  return p;
}

Device device(driver::SimOptions options) {
  return Device(
      std::make_shared<detail::DeviceCore>(driver::make_sim(options), detail::CoreConfig{}));
}

class Sizes : public testing::TestWithParam<std::pair<std::uint32_t, std::uint32_t>> {};

TEST_P(Sizes, InterpreterAgreesWithControl) {
  const auto [width, height] = GetParam();
  const Picture input = noise(width, height);
  const Plan plan = make_plan(width, height, 30, 2);
  driver::SimOptions options;
  options.instant = true;
  const Result<Picture> made = run_device(device(options), input, plan);
  ASSERT_TRUE(made) << made.error().full();
  EXPECT_EQ(made->pixels, run_control(input, plan).pixels);
}

INSTANTIATE_TEST_SUITE_P(Mosaic, Sizes,
                         testing::Values(std::pair(1u, 1u), std::pair(1u, 7u), std::pair(7u, 1u),
                                         std::pair(48u, 40u), std::pair(160u, 3u)));

TEST(Mosaic, NoRaceNoUnwrittenReadNoUnorderedAccess) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    driver::SimOptions options;
    options.seed = seed;
    auto sim = driver::make_sim(options);
    auto* checker = static_cast<driver::SimDriver*>(sim.get());
    const auto core = std::make_shared<detail::DeviceCore>(std::move(sim), detail::CoreConfig{});
    const Picture input = noise(40, 33);
    const Plan plan = make_plan(40, 33, 20, 2);
    const Result<Picture> made = run_device(Device(core), input, plan);
    ASSERT_TRUE(made) << made.error().full();
    EXPECT_EQ(made->pixels, run_control(input, plan).pixels);
    const std::vector<std::string> violations = checker->violations();
    EXPECT_TRUE(violations.empty()) << violations.front();
  }
}

TEST(Mosaic, BrokenGuardIsAnErrorThatNamesKernelElementAndLine) {
  driver::SimOptions options;
  options.instant = true;
  const Picture input = noise(40, 33);
  const Result<Picture> made = run_device(device(options), input, make_plan(40, 33, 20, 2), true);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind(), ErrorKind::BufferFailed);
  const Error root = made.error().root();
  EXPECT_EQ(root.kind(), ErrorKind::KernelFault);
  for (const char* part : {"jump", "stone of each pixel", "(33, 40)", "kernels.hpp:"}) {
    EXPECT_NE(root.message().find(part), std::string::npos) << root.message();
  }
}

TEST(Picture, UnreadableFilesAreOneSentence) {
  EXPECT_EQ(read_picture("/nowhere/at-all.png").error().kind(), ErrorKind::Io);
  const std::string file = testing::TempDir() + "/broken.png";
  std::ofstream(file) << "this is no picture";
  EXPECT_EQ(read_picture(file).error().kind(), ErrorKind::InvalidArgument);
  EXPECT_EQ(write_png("/nowhere/at-all.png", noise(2, 2)).error().kind(), ErrorKind::Io);
}

TEST(Picture, ShrinksByWholeSteps) {
  const Picture big = noise(20000, 3);
  const Picture small = shrink_to_work_size(big);
  EXPECT_EQ(small.width, 10000u);
  EXPECT_EQ(small.height, 2u);
}

TEST(Picture, WritesWhatItReads) {
  const Picture p = noise(31, 17);
  const std::string file = testing::TempDir() + "/round.png";
  ASSERT_TRUE(write_png(file, p));
  EXPECT_EQ(read_picture(file).value().pixels, p.pixels);
}

}  // namespace
}  // namespace tessera::mosaic
