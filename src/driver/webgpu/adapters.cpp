// SPDX-License-Identifier: MIT OR Apache-2.0
#include "driver/webgpu/adapters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace tessera::driver {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string names(const std::vector<AdapterInfo>& adapters) {
  std::string out;
  for (std::size_t i = 0; i < adapters.size(); ++i) {
    out += fmt::format("{}{}: {}{}", i > 0 ? ", " : "", i, adapters[i].name,
                       adapters[i].unusable.empty() ? "" : " (unusable)");
  }
  return out;
}

}  // namespace

std::vector<std::size_t> rank_adapters(const std::vector<AdapterInfo>& adapters) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < adapters.size(); ++i) {
    if (adapters[i].unusable.empty()) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return adapters[a].kind < adapters[b].kind;  // the enumerators are in this order
  });
  return order;
}

Result<std::size_t> select_adapter(const std::vector<AdapterInfo>& adapters,
                                   std::optional<std::uint32_t> index, std::string_view name) {
  const std::vector<std::size_t> order = rank_adapters(adapters);
  if (adapters.empty()) {
    return Error(ErrorKind::BackendUnavailable, "WebGPU offers no adapter on this machine.");
  }
  if (index) {
    if (*index >= adapters.size()) {
      return Error(
          ErrorKind::InvalidArgument,
          fmt::format("There is no WebGPU adapter {}; there are {}.", *index, names(adapters)));
    }
    if (!adapters[*index].unusable.empty()) {
      return Error(ErrorKind::BackendUnavailable,
                   fmt::format("WebGPU adapter {} ({}) cannot be used: {}", *index,
                               adapters[*index].name, adapters[*index].unusable));
    }
    return static_cast<std::size_t>(*index);
  }
  if (!name.empty()) {
    for (const std::size_t i : order) {
      if (lower(adapters[i].name).find(lower(name)) != std::string::npos) return i;
    }
    return Error(ErrorKind::InvalidArgument,
                 fmt::format("No usable WebGPU adapter has \"{}\" in its name; there are {}.", name,
                             names(adapters)));
  }
  if (order.empty()) {
    return Error(ErrorKind::BackendUnavailable,
                 fmt::format("None of the WebGPU adapters can be used: {}: {}", adapters[0].name,
                             adapters[0].unusable));
  }
  return order.front();
}

}  // namespace tessera::driver
