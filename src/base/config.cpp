// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

// The parser is compiled here, without exceptions; the packaged library has them.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

extern char** environ;

namespace tessera::base {
namespace {

enum class KeyType { text, number, choice };

struct Key {
  std::string_view key;
  KeyType type;
  std::string_view standard;
  std::int64_t least, greatest;
  std::string_view choices;
  std::string_view description;
};

constexpr Key keys[] = {
#define TESSERA_KEY(key, type, standard, least, greatest, choices, description) \
  Key{key, KeyType::type, standard, least, greatest, choices, description},
#include "base/config.def"
#undef TESSERA_KEY
};

std::string variable_of(std::string_view key) {
  std::string out = "TESSERA_";
  for (const char c : key) out += c == '.' ? '_' : static_cast<char>(c >= 'a' ? c - 32 : c);
  return out;
}

// Edits between two names: insertions, deletions, replacements.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

template <class F>
std::string nearest(std::string_view name, F&& name_of) {
  std::string best;
  std::size_t least = ~std::size_t{0};
  for (const Key& k : keys) {
    const std::string candidate = name_of(k.key);
    const std::size_t d = distance(name, candidate);
    if (d < least) {
      least = d;
      best = candidate;
    }
  }
  return best;
}

bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t space = list.find(' ');
    if (list.substr(0, space) == word) return true;
    if (space == std::string_view::npos) return false;
    list.remove_prefix(space + 1);
  }
  return false;
}

// Why the key cannot have the value, or empty.
std::string refusal(const Key& key, std::string_view value) {
  switch (key.type) {
    case KeyType::text:
      return "";
    case KeyType::choice:
      return has_word(key.choices, value) ? "" : fmt::format("it is one of: {}", key.choices);
    case KeyType::number: {
      std::int64_t n = 0;
      const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), n);
      if (failed == std::errc() && end == value.data() + value.size() && n >= key.least &&
          n <= key.greatest) {
        return "";
      }
      return fmt::format("it is a whole number from {} to {}", key.least, key.greatest);
    }
  }
  return "";
}

std::optional<Error> apply(const Key& key, ConfigEntry& entry, std::string value,
                           ConfigSource source, std::string_view where) {
  if (const std::string why = refusal(key, value); !why.empty()) {
    return Error(ErrorKind::InvalidArgument,
                 fmt::format("{} in {} is \"{}\", but {}.",
                             source == ConfigSource::environment ? entry.variable : entry.key,
                             where, value, why));
  }
  entry.value = std::move(value);
  entry.source = source;
  return std::nullopt;
}

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

// The file to read; the flag says whether it was named and so has to exist.
std::pair<std::filesystem::path, bool> config_file(bool use_environment) {
  if (use_environment) {
    if (const char* named = environment("TESSERA_CONFIG")) return {named, true};
  }
  if (const char* folder = environment("XDG_CONFIG_HOME")) {
    return {std::filesystem::path(folder) / "tessera" / "config.toml", false};
  }
  if (const char* home = environment("HOME")) {
    return {std::filesystem::path(home) / ".config" / "tessera" / "config.toml", false};
  }
  return {};
}

std::optional<Error> read_table(const toml::table& table, const std::string& prefix,
                                const std::string& file, std::vector<ConfigEntry>& entries,
                                std::vector<std::string>& warnings) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix + std::string(name.str());
    if (const toml::table* inner = node.as_table()) {
      if (auto e = read_table(*inner, key + ".", file, entries, warnings)) return e;
      continue;
    }
    const auto known =
        std::find_if(std::begin(keys), std::end(keys), [&](const Key& k) { return k.key == key; });
    if (known == std::end(keys)) {
      warnings.push_back(
          fmt::format("{} has an unknown key {}; the nearest is {}.", file, key,
                      nearest(key, [](std::string_view k) { return std::string(k); })));
      continue;
    }
    std::string value;
    if (const auto text = node.value_exact<std::string>()) {
      value = *text;
    } else if (const auto number = node.value_exact<std::int64_t>()) {
      value = std::to_string(*number);
    } else {
      return Error(ErrorKind::InvalidArgument,
                   fmt::format("{} in {} is neither a string nor a whole number.", key, file));
    }
    if (auto e = apply(*known, entries[static_cast<std::size_t>(known - keys)], std::move(value),
                       ConfigSource::file, file)) {
      return e;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(ConfigSource source) noexcept {
  constexpr std::string_view names[] = {"default", "file", "environment"};
  return names[static_cast<std::size_t>(source)];
}

const ConfigEntry& Config::entry(std::string_view key) const {
  const auto it = std::find_if(entries_.begin(), entries_.end(),
                               [&](const ConfigEntry& e) { return e.key == key; });
  return it != entries_.end() ? *it : entries_.front();
}

std::int64_t Config::number(std::string_view key) const {
  std::int64_t n = 0;
  const std::string& v = entry(key).value;
  std::from_chars(v.data(), v.data() + v.size(), n);
  return n;
}

const std::string& Config::text(std::string_view key) const {
  return entry(key).value;
}

bool Config::from_environment(std::string_view key) const {
  return entry(key).source == ConfigSource::environment;
}

Result<Config> load_config(const ConfigOptions& options) {
  std::vector<ConfigEntry> entries;
  std::vector<std::string> warnings;
  for (const Key& k : keys) {
    entries.push_back({std::string(k.key), variable_of(k.key), std::string(k.standard),
                       std::string(k.standard), std::string(k.description),
                       ConfigSource::standard});
  }
  const auto [file, named] = config_file(!options.ignore_environment);
  std::error_code ignored;
  if (!file.empty() && (named || std::filesystem::exists(file, ignored))) {
    // The parser takes a folder for an empty file.
    if (std::filesystem::is_directory(file, ignored)) {
      return Error(
          ErrorKind::Io,
          fmt::format("The configuration file {} cannot be read: it is a folder.", file.string()));
    }
    const toml::parse_result parsed = toml::parse_file(file.string());
    if (!parsed) {
      return Error(
          ErrorKind::Io,
          fmt::format("The configuration file {} cannot be read: {} (line {}).", file.string(),
                      parsed.error().description(), parsed.error().source().begin.line));
    }
    if (auto e = read_table(parsed.table(), "", file.string(), entries, warnings)) return *e;
  }
  if (!options.ignore_environment) {
    for (char** v = environ; v != nullptr && *v != nullptr; ++v) {
      const std::string_view pair(*v);
      const std::string_view name = pair.substr(0, pair.find('='));
      if (!name.starts_with("TESSERA_") || name == "TESSERA_CONFIG") continue;
      const auto it = std::find_if(entries.begin(), entries.end(),
                                   [&](const ConfigEntry& e) { return e.variable == name; });
      if (it == entries.end()) {
        warnings.push_back(
            fmt::format("The environment has an unknown variable {}; the nearest is "
                        "{}.",
                        name, nearest(name, variable_of)));
        continue;
      }
      std::string value(pair.substr(std::min(pair.size(), name.size() + 1)));
      if (auto e = apply(keys[it - entries.begin()], *it, std::move(value),
                         ConfigSource::environment, "the environment")) {
        return *e;
      }
    }
  }
  Config config(std::move(entries));
  config.warnings() = std::move(warnings);
  return config;
}

}  // namespace tessera::base
