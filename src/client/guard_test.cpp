// SPDX-License-Identifier: MIT OR Apache-2.0
// Red zones: silent where nobody writes past a buffer, and a sentence where somebody does.
#include "base/log.hpp"
#include "client/sim_kernels.hpp"
#include "client/sim_rig.hpp"

namespace tessera {
namespace {

std::vector<std::string>& lines() {
  static std::vector<std::string> all;
  return all;
}

class Guard : public testing::Test {
 protected:
  Guard() {
    lines().clear();
    base::set_log_sink([](base::LogLevel, std::string_view line) { lines().emplace_back(line); });
  }
  ~Guard() override { base::set_log_sink(nullptr); }

  static detail::CoreConfig guarded() {
    detail::CoreConfig config;
    config.server.guard = true;
    return config;
  }
  static driver::SimOptions options() {
    driver::SimOptions o;
    o.queues = 3;
    return o;
  }
  SimRig rig{options(), guarded()};

  std::uint64_t damaged() {
    rig.ran();
    rig.ran();  // what the first look enqueued
    return rig.server([](server::Server& server) {
      server.inspect();
      return server.damaged_zones();
    });
  }
};

TEST_F(Guard, NothingIsSaidOfSoundPrograms) {
  for (u32 i = 1; i < 60; ++i) {
    const StreamScope scope(rig.stream(i % 3));
    const Buffer<u32> b = rig.device().full<u32>(i, i);
    launch<sim_kernels::bump>(rig.device(), Grid::over(i), b);
    const Buffer<u8> odd = rig.device().full<u8>(i, 1);  // ends anywhere
    EXPECT_EQ(values_of(b), all_of(i, i + 1));
    if (i == 30) {
      ASSERT_TRUE(rig.device().install(MemoryLayout::exclusive_pages()).has_value());
      ASSERT_TRUE(rig.device().trim().has_value());
    }
  }
  EXPECT_EQ(damaged(), 0u);
  EXPECT_TRUE(lines().empty()) << lines().front();
}

TEST_F(Guard, AWriteBehindTheEndIsFound) {
  {
    const Buffer<u32> victim = rig.device().full<u32>(10, 1u);
    victim.label("victim");
    Result<Resource> place = victim.resource();
    ASSERT_TRUE(place.has_value());
    // What an unchecked kernel would do.
    auto* bytes = reinterpret_cast<std::byte*>(place->native()) + place->offset();
    bytes[victim.size() * 4 + 3] = std::byte{0};
  }
  EXPECT_EQ(damaged(), 1u);
  ASSERT_EQ(lines().size(), 1u);
  EXPECT_NE(lines()[0].find("behind buffer \"victim\" of 40 bytes"), std::string::npos)
      << lines()[0];
  EXPECT_NE(lines()[0].find("3 bytes past the end"), std::string::npos) << lines()[0];
}

TEST_F(Guard, AWriteBeforeTheStartIsFound) {
  {
    const Buffer<u32> victim = rig.device().full<u32>(10, 1u);
    Result<Resource> place = victim.resource();
    ASSERT_TRUE(place.has_value());
    (reinterpret_cast<std::byte*>(place->native()) + place->offset())[-4] = std::byte{7};
  }
  EXPECT_EQ(damaged(), 1u);
  ASSERT_EQ(lines().size(), 1u);
  EXPECT_NE(lines()[0].find("before buffer"), std::string::npos) << lines()[0];
}

TEST_F(Guard, FreedMemoryIsPoisoned) {
  std::uint64_t native = 0, offset = 0;
  {
    const Buffer<u32> gone = rig.device().full<u32>(16, 1u);
    Result<Resource> place = gone.resource();
    ASSERT_TRUE(place.has_value());
    native = place->native();
    offset = place->offset();
  }
  EXPECT_EQ(damaged(), 0u);
  const auto* bytes = reinterpret_cast<const std::byte*>(native) + offset;
  EXPECT_EQ(bytes[0], std::byte{0xdd});
  EXPECT_EQ(bytes[63], std::byte{0xdd});
}

}  // namespace
}  // namespace tessera
