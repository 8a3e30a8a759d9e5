// SPDX-License-Identifier: MIT OR Apache-2.0
// What the command's exit status means.
#pragma once

namespace tessera::tools {

enum ExitCode : int {
  exit_ok = 0,
  exit_failed = 1,
  exit_usage = 2,
  exit_nothing_usable = 3,
  exit_results_differ = 4,
};

}  // namespace tessera::tools
