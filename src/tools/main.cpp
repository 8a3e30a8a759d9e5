// SPDX-License-Identifier: MIT OR Apache-2.0
// The tessera command.
#include <CLI/CLI.hpp>

#include "tools/commands.hpp"
#include "tools/exit_codes.hpp"

int main(int argc, char** argv) {
  using namespace tessera::tools;
  CLI::App app{"One kernel on every device: what is here, what is wrong, and a demonstration."};
  app.require_subcommand(1);

  bool json = false;
  CLI::App* devices = app.add_subcommand("devices", "List the devices of this machine");
  CLI::App* doctor = app.add_subcommand("doctor", "Say what works, and how to mend what does not");
  CLI::App* config = app.add_subcommand("config", "Show every setting, its value and its source");
  for (CLI::App* verb : {devices, doctor, config}) {
    verb->add_flag("--json", json, "Print one JSON object");
  }

  DemoOptions options;
  CLI::App* demo = app.add_subcommand("demo", "Run a demonstration");
  demo->require_subcommand(1);
  CLI::App* mosaic =
      demo->add_subcommand("mosaic", "Make a photograph a stone mosaic on every device");
  mosaic->add_option("--input", options.input,
                     "PNG or JPEG; default: the photograph that comes along");
  mosaic->add_option("--output-dir", options.output_dir, "Folder for mosaic.png and compare.png");
  mosaic->add_option("--stones", options.stones, "How many stones")->check(CLI::Range(1, 1000000));
  mosaic->add_option("--device", options.devices,
                     "Only these devices (as tessera devices names them)");
  mosaic->add_flag("--json", options.json, "Print one JSON object");
  mosaic->add_flag("--break", options.broken,
                   "Take one guard out of one kernel and see what is said");
  mosaic->add_flag("--source", options.source, "Print the kernels' generated code");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? exit_ok : exit_usage;
  }
  if (*devices) return run_devices(json);
  if (*doctor) return run_doctor(json);
  if (*config) return run_config(json);
  return run_demo(options);
}
