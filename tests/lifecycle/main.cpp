// SPDX-License-Identifier: MIT OR Apache-2.0
// tessera-lifecycle MODE SPEC
#include "lifecycle/program.hpp"

int main(int argc, char** argv) {
  using namespace tessera::lifecycle;
  if (argc != 3) {
    std::fprintf(stderr, "usage: tessera-lifecycle MODE SPEC\n");
    return 2;
  }
  for (const auto run : {exit_mode, fork_mode}) {
    if (const int code = run(argv[1], argv[2]); code >= 0) return code;
  }
  std::fprintf(stderr, "There is no mode %s.\n", argv[1]);
  return 2;
}
