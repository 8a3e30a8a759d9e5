// SPDX-License-Identifier: MIT OR Apache-2.0
// What only the driver itself shows: loss of the device, refused code, memory that cannot be.
#include "driver/webgpu/webgpu_driver.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

namespace tessera::driver {
namespace {

using namespace std::chrono_literals;

class Webgpu : public testing::Test {
 protected:
  void SetUp() override {
    const Result<std::vector<AdapterInfo>> adapters = list_adapters({});
    std::string why = adapters ? "no usable adapter" : adapters.error().message();
    if (adapters) {
      if (const Result<std::size_t> chosen = select_adapter(*adapters, std::nullopt, "")) {
        Result<std::unique_ptr<Driver>> opened = open_webgpu({}, (*adapters)[*chosen]);
        if (opened) {
          driver_ = *std::move(opened);
          return;
        }
        why = opened.error().message();
      }
    }
    if (std::getenv("CI") != nullptr) FAIL() << why;
    GTEST_SKIP() << why;
  }
  WebgpuDriver& driver() { return static_cast<WebgpuDriver&>(*driver_); }
  static Deadline in(std::chrono::seconds s) { return std::chrono::steady_clock::now() + s; }

  std::unique_ptr<Driver> driver_;
};

TEST_F(Webgpu, LossEndsEveryWaitAndEveryLaterCall) {
  const PageId page = driver().allocate(PageKind::device, 4096).value();
  const Region region{page, 0, 4096};
  ASSERT_TRUE(driver().fill(0, region, 7, 4));
  const Driver::Download read = driver().download(0, region).value();
  // Nothing was submitted: the waiter would wait for ever.
  std::thread waiter([&] {
    const Result<bool> done = driver().wait_host(0, read.ticket, in(20s));
    EXPECT_FALSE(done.has_value());
    if (!done) {
      EXPECT_EQ(done.error().kind(), ErrorKind::DeviceLost);
    }
  });
  std::this_thread::sleep_for(20ms);
  driver().lose();
  waiter.join();
  ASSERT_TRUE(driver().lost().has_value());
  EXPECT_EQ(driver().lost()->kind(), ErrorKind::DeviceLost);
  EXPECT_EQ(driver().fill(0, region, 7, 4).error().kind(), ErrorKind::DeviceLost);
  EXPECT_EQ(driver().allocate(PageKind::device, 64).error().kind(), ErrorKind::DeviceLost);
  EXPECT_EQ(driver().submit(0).error().kind(), ErrorKind::DeviceLost);
  driver().drop_read(read.read);
}

TEST_F(Webgpu, RefusedCodeIsCompileFailedWithTheCompilersWords) {
  Image image;
  image.entry = "main";
  image.target = "wgsl";
  image.code = "@compute @workgroup_size(1) fn main() { let x = nonsense; }";
  auto kernel = std::make_shared<ir::Kernel>();
  kernel->name = "broken";
  image.kernel = kernel;
  const Result<KernelId> loaded = driver().load(image);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind(), ErrorKind::CompileFailed);
  EXPECT_NE(loaded.error().message().find("nonsense"), std::string::npos);
  EXPECT_FALSE(driver().lost());
}

TEST_F(Webgpu, PagesOverTheLimitAreTooLarge) {
  const std::uint64_t limit = driver().properties().page_limit;
  EXPECT_EQ(driver().allocate(PageKind::device, limit + 4).error().kind(), ErrorKind::TooLarge);
  EXPECT_FALSE(driver().lost());
}

TEST_F(Webgpu, ADeadlineThatPassesIsNoError) {
  const PageId page = driver().allocate(PageKind::device, 64).value();
  const Ticket ticket = driver().fill(0, {page, 0, 64}, 1, 1).value();
  const Result<bool> early = driver().wait_host(0, ticket, std::chrono::steady_clock::now() + 10ms);
  ASSERT_TRUE(early);
  EXPECT_FALSE(*early);  // not submitted yet
  ASSERT_TRUE(driver().submit(0));
  EXPECT_TRUE(driver().wait_host(0, ticket, in(20s)).value());
  EXPECT_GE(driver().completed(0), ticket);
}

}  // namespace
}  // namespace tessera::driver
