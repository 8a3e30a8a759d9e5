// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>

namespace tessera::base {
namespace {

std::atomic<LogLevel> least{LogLevel::warn};
std::atomic<LogSink> sink{nullptr};

constexpr std::array<std::string_view, 6> words{"trace", "debug", "info", "warn", "error", "off"};

// Never destroyed: threads may log while the process ends.
spdlog::logger& logger() {
  static spdlog::logger* const l = [] {
    auto* made = new spdlog::logger("tessera", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("tessera: %l: %v");
    made->set_level(spdlog::level::trace);
    return made;
  }();
  return *l;
}

}  // namespace

bool log_enabled(LogLevel level) noexcept {
  return level >= least.load(std::memory_order_relaxed) && level != LogLevel::off;
}

void set_log_level(LogLevel level) noexcept {
  least.store(level, std::memory_order_relaxed);
}

void set_log_level(std::string_view word) noexcept {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == word) set_log_level(static_cast<LogLevel>(i));
  }
}

void log(LogLevel level, std::string_view message) {
  if (!log_enabled(level)) return;
  if (const LogSink custom = sink.load(std::memory_order_acquire)) return custom(level, message);
  logger().log(static_cast<spdlog::level::level_enum>(level), message);
}

void set_log_sink(LogSink custom) noexcept {
  sink.store(custom, std::memory_order_release);
}

}  // namespace tessera::base
