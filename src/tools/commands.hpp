// SPDX-License-Identifier: MIT OR Apache-2.0
// The verbs of the command. Each prints data on stdout, everything else on stderr, and gives the
// exit status.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::tools {

int run_devices(bool json);
int run_doctor(bool json);
int run_config(bool json);

struct DemoOptions {
  std::string input;
  std::string output_dir = ".";
  std::uint32_t stones = 1600;
  std::vector<std::string> devices;  // empty: all
  bool json = false;
  bool broken = false;
  bool source = false;
};
int run_demo(const DemoOptions& options);

}  // namespace tessera::tools
