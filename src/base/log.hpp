// SPDX-License-Identifier: MIT OR Apache-2.0
// What has to be said without a caller to say it to.
#pragma once

#include <string_view>

namespace tessera::base {

enum class LogLevel : unsigned char { trace, debug, info, warn, error, off };

/// Whether a message of this level would be written: cheap, to be asked before formatting.
bool log_enabled(LogLevel level) noexcept;
void set_log_level(LogLevel level) noexcept;
/// Sets the level by the word of the configuration ("warn"); unknown words change nothing.
void set_log_level(std::string_view word) noexcept;
/// Writes one line. Thread-safe. The default sink is stderr, from `warn` up.
void log(LogLevel level, std::string_view message);

/// Where lines go instead of stderr; null goes back. The function must be thread-safe.
using LogSink = void (*)(LogLevel level, std::string_view message);
void set_log_sink(LogSink sink) noexcept;

}  // namespace tessera::base
