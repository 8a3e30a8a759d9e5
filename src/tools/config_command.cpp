// SPDX-License-Identifier: MIT OR Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/config.hpp"
#include "tools/commands.hpp"
#include "tools/exit_codes.hpp"

namespace tessera::tools {

int run_config(bool json) {
  const Result<base::Config> config = base::load_config({});
  if (!config) {
    fmt::print(stderr, "{}\n", config.error().full());
    return exit_failed;
  }
  for (const std::string& warning : config->warnings())
    fmt::print(stderr, "warning: {}\n", warning);
  nlohmann::json list = nlohmann::json::array();
  for (const base::ConfigEntry& e : config->entries()) {
    if (json) {
      list.push_back({{"key", e.key},
                      {"variable", e.variable},
                      {"value", e.value},
                      {"default", e.standard},
                      {"source", base::to_string(e.source)},
                      {"description", e.description}});
    } else {
      fmt::print("{:<22} {:<14} {:<12} {:<30} {}\n", e.key, e.value.empty() ? "\"\"" : e.value,
                 base::to_string(e.source), e.variable, e.description);
    }
  }
  if (json) {
    fmt::print("{}\n",
               nlohmann::json{
                   {"schema", "tessera.config/1"}, {"keys", list}, {"warnings", config->warnings()}}
                   .dump(2));
  }
  return exit_ok;
}

}  // namespace tessera::tools
