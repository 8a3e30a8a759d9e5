// SPDX-License-Identifier: MIT OR Apache-2.0
// Configuration: one table of keys (config.def), from the environment, a file and defaults.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/result.hpp"

namespace tessera::base {

enum class ConfigSource : std::uint8_t { standard, file, environment };
std::string_view to_string(ConfigSource source) noexcept;

struct ConfigEntry {
  std::string key;
  std::string variable;  // of the environment
  std::string value;
  std::string standard;  // what it is where nobody says anything
  std::string description;
  ConfigSource source = ConfigSource::standard;
};

struct ConfigOptions {
  bool ignore_environment = false;  // TESSERA_* variables do not count, TESSERA_CONFIG included
};

/// The values in force. A plain value.
class Config {
 public:
  explicit Config(std::vector<ConfigEntry> entries) : entries_(std::move(entries)) {}

  std::int64_t number(std::string_view key) const;
  const std::string& text(std::string_view key) const;
  bool from_environment(std::string_view key) const;
  const std::vector<ConfigEntry>& entries() const noexcept { return entries_; }
  /// Sentences about what was not understood but does no harm: unknown keys and variables, each
  /// with the nearest name that there is.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }
  std::vector<std::string>& warnings() noexcept { return warnings_; }

 private:
  const ConfigEntry& entry(std::string_view key) const;
  std::vector<ConfigEntry> entries_;
  std::vector<std::string> warnings_;
};

/// Reads everything anew. The file is $TESSERA_CONFIG, else tessera/config.toml in the XDG folder
/// of configuration; never one of the working directory. A value that a key cannot have is
/// InvalidArgument with the value, where it stands and what is allowed; a file that is named but
/// cannot be read, or is no TOML, is Io.
Result<Config> load_config(const ConfigOptions& options);

}  // namespace tessera::base
