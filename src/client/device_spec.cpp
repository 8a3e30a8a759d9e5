// SPDX-License-Identifier: MIT OR Apache-2.0
#include "client/device_spec.hpp"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace tessera::client {
namespace {

constexpr std::string_view grammar =
    "Known are auto, gpu, webgpu, webgpu:INDEX, webgpu:name=TEXT, cpu, sim and "
    "sim:seed=N,queues=N.";

Error not_understood(std::string_view text, std::string_view part) {
  return Error(
      ErrorKind::InvalidArgument,
      fmt::format("The device \"{}\" is not understood at \"{}\". {}", text, part, grammar));
}

template <class T>
bool parse_number(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<DeviceFamily> family_of(std::string_view word) {
  constexpr std::pair<std::string_view, DeviceFamily> words[] = {{"auto", DeviceFamily::automatic},
                                                                 {"gpu", DeviceFamily::gpu},
                                                                 {"webgpu", DeviceFamily::webgpu},
                                                                 {"cpu", DeviceFamily::cpu},
                                                                 {"sim", DeviceFamily::sim}};
  for (const auto& [name, family] : words) {
    if (word == name) return family;
  }
  return std::nullopt;
}

bool apply_option(DeviceSpec& spec, std::string_view option) {
  const std::size_t equals = option.find('=');
  if (equals == std::string_view::npos) {
    std::uint32_t index = 0;
    if (spec.family != DeviceFamily::webgpu || !parse_number(option, index)) return false;
    spec.index = index;
    return true;
  }
  const std::string_view key = option.substr(0, equals);
  const std::string_view value = option.substr(equals + 1);
  if (spec.family == DeviceFamily::webgpu && key == "name" && !value.empty()) {
    spec.name = value;
    return true;
  }
  if (spec.family == DeviceFamily::sim && key == "seed") return parse_number(value, spec.seed);
  if (spec.family == DeviceFamily::sim && key == "queues") {
    return parse_number(value, spec.queues) && spec.queues >= 1 && spec.queues <= 128;
  }
  return false;
}

}  // namespace

Result<DeviceSpec> parse_device_spec(std::string_view text) {
  DeviceSpec spec;
  const std::size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  const std::optional<DeviceFamily> family = family_of(word);
  if (!family) return not_understood(text, word);
  spec.family = *family;
  if (colon == std::string_view::npos) return spec;
  std::string_view rest = text.substr(colon + 1);
  for (;;) {
    // A name may hold commas, so it takes all that follows.
    const std::size_t comma =
        rest.substr(0, 5) == "name=" ? std::string_view::npos : rest.find(',');
    const std::string_view option = rest.substr(0, comma);
    if (!apply_option(spec, option)) return not_understood(text, option);
    if (comma == std::string_view::npos) return spec;
    rest = rest.substr(comma + 1);
  }
}

}  // namespace tessera::client
