// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/log.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace tessera::base {
namespace {

std::mutex lines_mutex;
std::vector<std::pair<LogLevel, std::string>> lines;

void keep(LogLevel level, std::string_view message) {
  const std::lock_guard lock(lines_mutex);
  lines.emplace_back(level, std::string(message));
}

class Log : public testing::Test {
 protected:
  void SetUp() override {
    lines.clear();
    set_log_level(LogLevel::warn);
    set_log_sink(keep);
  }
  void TearDown() override {
    set_log_sink(nullptr);
    set_log_level(LogLevel::warn);
  }
};

TEST_F(Log, WritesFromTheLevelUp) {
  constexpr LogLevel levels[] = {LogLevel::trace, LogLevel::debug, LogLevel::info, LogLevel::warn,
                                 LogLevel::error};
  for (const LogLevel least : levels) {
    set_log_level(least);
    lines.clear();
    for (const LogLevel level : levels) {
      EXPECT_EQ(log_enabled(level), level >= least);
      log(level, "x");
    }
    std::size_t expected = 0;
    for (const LogLevel level : levels) expected += level >= least ? 1 : 0;
    ASSERT_EQ(lines.size(), expected);
    EXPECT_EQ(lines.front().first, least);
  }
}

TEST_F(Log, OffIsALevelToSetAndNoLevelToLogAt) {
  set_log_level(LogLevel::off);
  log(LogLevel::error, "x");
  log(LogLevel::off, "x");
  EXPECT_TRUE(lines.empty());
  set_log_level(LogLevel::trace);
  log(LogLevel::off, "x");
  EXPECT_TRUE(lines.empty());
}

TEST_F(Log, WordsOfTheConfigurationSetTheLevelAndOthersDoNot) {
  set_log_level("debug");
  EXPECT_TRUE(log_enabled(LogLevel::debug));
  EXPECT_FALSE(log_enabled(LogLevel::trace));
  set_log_level("loud");
  set_log_level("");
  set_log_level("DEBUG ");
  EXPECT_TRUE(log_enabled(LogLevel::debug));
  EXPECT_FALSE(log_enabled(LogLevel::trace));
  set_log_level("off");
  EXPECT_FALSE(log_enabled(LogLevel::error));
}

TEST_F(Log, BracesInAMessageAreText) {
  log(LogLevel::warn, "a{}b{0:x}{");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].second, "a{}b{0:x}{");
}

TEST_F(Log, WithoutASinkLinesGoToStderrAndNotToStdout) {
  set_log_sink(nullptr);
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  log(LogLevel::warn, "a{}b %s");
  log(LogLevel::info, "unwanted");
  const std::string out = testing::internal::GetCapturedStdout();
  const std::string err = testing::internal::GetCapturedStderr();
  EXPECT_NE(err.find("a{}b %s"), std::string::npos) << err;
  EXPECT_EQ(err.find("unwanted"), std::string::npos) << err;
  EXPECT_EQ(out, "");
}

TEST_F(Log, ThreadsLoseNoLine) {
  constexpr int threads = 4, each = 500;
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([] {
      for (int i = 0; i < each; ++i) log(LogLevel::error, "x");
    });
  }
  for (std::thread& t : running) t.join();
  EXPECT_EQ(lines.size(), std::size_t{threads} * each);
}

}  // namespace
}  // namespace tessera::base
