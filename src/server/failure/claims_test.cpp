// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/failure/claims.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tessera::server {
namespace {

Claim claim(std::uint64_t begin, std::uint64_t end, const char* text) {
  return {begin, end, Error(ErrorKind::LaunchFailed, text), 0, 0};
}

std::string at(const Claims& c, std::uint64_t begin, std::uint64_t end) {
  const Claim* found = c.first(begin, end);
  return found != nullptr ? found->error.message() : "";
}

TEST(Claims, OverlapTaintsAndLowestOffsetWins) {
  Claims c;
  c.set(claim(20, 30, "b"));
  c.set(claim(0, 10, "a"));
  EXPECT_EQ(at(c, 0, 100), "a");
  EXPECT_EQ(at(c, 10, 20), "");
  EXPECT_EQ(at(c, 29, 31), "b");
}

TEST(Claims, PartialWriteClearsOnlyItsBytes) {
  Claims c;
  c.set(claim(0, 100, "a"));
  c.clear(40, 60);
  EXPECT_EQ(at(c, 40, 60), "");
  EXPECT_EQ(at(c, 39, 41), "a");
  EXPECT_EQ(at(c, 59, 61), "a");
}

TEST(Claims, AgreesWithOneErrorPerByte) {
  std::mt19937 random(7);
  Claims c;
  std::vector<std::string> model(48);
  for (int step = 0; step < 2000; ++step) {
    const std::uint64_t b = random() % 47, e = b + 1 + random() % (48 - b);
    if (random() % 2 == 0) {
      const std::string text = std::to_string(step);
      c.set(claim(b, e, text.c_str()));
      for (auto i = b; i < e && i < 48; ++i) model[i] = text;
    } else {
      c.clear(b, e);
      for (auto i = b; i < e && i < 48; ++i) model[i].clear();
    }
    for (std::uint64_t i = 0; i < 48; ++i) ASSERT_EQ(at(c, i, i + 1), model[i]) << step;
  }
}

}  // namespace
}  // namespace tessera::server
