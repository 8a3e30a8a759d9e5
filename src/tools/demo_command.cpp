// SPDX-License-Identifier: MIT OR Apache-2.0
// tessera demo mosaic: the control first, then every device, held against it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "tessera/detail/kernel_source.hpp"
#include "tessera/device.hpp"
#include "tools/commands.hpp"
#include "tools/exit_codes.hpp"
#include "tools/mosaic/control.hpp"
#include "tools/mosaic/device_run.hpp"
#include "tools/mosaic/picture_io.hpp"

namespace tessera::tools {
namespace {

using mosaic::Picture;
using mosaic::Plan;

constexpr std::uint32_t crop_side = 64;
constexpr std::uint32_t crop_stones = 64, crop_steps = 2, full_steps = 4;

struct Row {
  std::string device, name;
  double first_ms = 0, warm_ms = 0;
  std::string full, crop;  // fingerprints; empty where that job was not done
  std::string unusable, error;
  std::string verdict;
};

template <class F>
double milliseconds(F&& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

std::string default_input() {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path relative = "examples/data/astronaut.png";
  if (fs::exists(relative, failed)) return relative.string();
  for (fs::path p = fs::read_symlink("/proc/self/exe", failed).parent_path(); !p.empty();
       p = p.parent_path()) {
    if (fs::exists(p / relative, failed)) return (p / relative).string();
    if (p == p.parent_path()) break;
  }
  return relative.string();
}

class Demo {
 public:
  explicit Demo(const DemoOptions& options) : options_(options) {}

  int run() {
    if (const Status ready = prepare(); !ready) return complain(ready.error());
    control();
    std::vector<DeviceInfo> wanted = devices();
    if (!options_.devices.empty()) {
      wanted.clear();
      for (const std::string& spec : options_.devices) wanted.push_back({spec, "", "", "", "", ""});
    }
    for (const DeviceInfo& info : wanted) {
      device(info);
      if (!usage_.empty()) {
        fmt::print(stderr, "{}\n", usage_);
        return exit_usage;
      }
    }
    return finish();
  }

 private:
  static int complain(const Error& error) {
    fmt::print(stderr, "{}\n", error.message());
    return exit_failed;
  }

  Status prepare() {
    const std::string file = options_.input.empty() ? default_input() : options_.input;
    Result<Picture> picture = mosaic::read_picture(file);
    if (!picture) return picture.error();
    input_ = mosaic::shrink_to_work_size(*picture);
    if (input_.width != picture->width) {
      fmt::print(stderr, "{} has {}×{} pixels; the mosaic is made at {}×{}.\n", file,
                 picture->width, picture->height, input_.width, input_.height);
    }
    crop_ = mosaic::crop(input_, crop_side);
    plan_ = mosaic::make_plan(input_.width, input_.height, options_.stones, full_steps);
    crop_plan_ = mosaic::make_plan(crop_.width, crop_.height, crop_stones, crop_steps);
    std::error_code failed;
    std::filesystem::create_directories(options_.output_dir, failed);
    if (access(options_.output_dir.c_str(), W_OK) != 0) {
      return Error(ErrorKind::Io, fmt::format("The folder {} cannot be written to: {}.",
                                              options_.output_dir, std::strerror(errno)));
    }
    return {};
  }

  void control() {
    Row row{"control", "plain C++ with OpenMP", 0, 0, "", "", "", "", "control"};
    Picture small;
    row.first_ms = milliseconds([&] { result_ = mosaic::run_control(input_, plan_); });
    row.warm_ms = milliseconds([&] { result_ = mosaic::run_control(input_, plan_); });
    small = mosaic::run_control(crop_, crop_plan_);
    row.full = mosaic::fingerprint(result_);
    row.crop = mosaic::fingerprint(small);
    add(row);
  }

  void device(const DeviceInfo& info) {
    Row row{info.spec, info.name, 0, 0, "", "", info.unusable, "", ""};
    if (row.unusable.empty()) {
      const Result<Device> opened = open(info.spec);
      if (opened) {
        row.name = opened->properties().name;
        jobs(*opened, row);
        if (options_.source) print_sources(*opened);
      } else if (opened.error().kind() == ErrorKind::InvalidArgument) {
        usage_ = opened.error().message();
        return;
      } else {
        row.unusable = opened.error().message();
      }
    }
    const Row& control = rows_.front();
    if (!row.unusable.empty()) {
      row.verdict = "unusable: " + row.unusable;
    } else if (!row.error.empty()) {
      row.verdict = "FAILED";
    } else {
      const bool same = row.crop == control.crop && (row.full.empty() || row.full == control.full);
      row.verdict = same ? (row.full.empty() ? "same (64×64 crop)" : "same") : "DIFFERENT";
    }
    add(row);
  }

  // The interpreter makes the small picture alone; every other device makes both.
  void jobs(const Device& device, Row& row) {
    const bool interpreter = device.properties().driver != "webgpu";
    std::optional<Picture> made;
    const auto job = [&](const Picture& picture, const Plan& plan) {
      Result<Picture> result = mosaic::run_device(device, picture, plan, options_.broken);
      if (result) {
        made = *std::move(result);
      } else {
        made.reset();
        if (row.error.empty()) row.error = result.error().full();
      }
      return made ? mosaic::fingerprint(*made) : "";
    };
    const Picture& main = interpreter ? crop_ : input_;
    const Plan& plan = interpreter ? crop_plan_ : plan_;
    std::string first;
    row.first_ms = milliseconds([&] { first = job(main, plan); });
    if (!row.error.empty()) return;
    std::string warm;
    row.warm_ms = milliseconds([&] { warm = job(main, plan); });
    if (first != warm) row.error = "Two runs on this device gave different pictures.";
    (interpreter ? row.crop : row.full) = warm;
    if (!interpreter) row.crop = job(crop_, crop_plan_);
  }

  static void print_sources(const Device& device) {
    for (const auto& s : detail::kernel_sources(device)) {
      fmt::print("// ---- {} ({}) on {}\n{}\n", s.name, s.target, device.properties().name, s.code);
    }
  }

  void add(const Row& row) {
    rows_.push_back(row);
    if (options_.json) return;
    const double control = rows_.front().warm_ms;
    if (!row.unusable.empty()) {
      fmt::print("{:<10} {:<32} {}\n", row.device, row.name.substr(0, 32), row.verdict);
      return;
    }
    const std::string& hash = row.full.empty() ? row.crop : row.full;
    const std::string ratio =
        row.full.empty() ? "-" : fmt::format("×{:.2f}", row.warm_ms / control);
    fmt::print("{:<10} {:<32} first {:>8.1f} ms  warm {:>8.1f} ms  {:<7} {:<12} {}\n", row.device,
               row.name.substr(0, 32), row.first_ms, row.warm_ms, ratio,
               hash.empty() ? "-" : hash.substr(0, 12), row.verdict);
    if (!row.error.empty()) fmt::print("{}\n", row.error);
  }

  int finish() {
    const auto count = [&](auto&& f) { return std::count_if(rows_.begin() + 1, rows_.end(), f); };
    const auto usable = count([](const Row& r) { return r.unusable.empty(); });
    const auto failed = count([](const Row& r) { return !r.error.empty(); });
    const auto differ = count([](const Row& r) { return r.verdict == "DIFFERENT"; });
    int status = usable == 0  ? exit_nothing_usable
                 : failed > 0 ? exit_failed
                 : differ > 0 ? exit_results_differ
                              : exit_ok;
    std::vector<std::string> files;
    if (status == exit_ok) {
      const std::filesystem::path folder(options_.output_dir);
      for (const auto& [name, picture] :
           {std::pair("mosaic.png", result_),
            std::pair("compare.png", mosaic::side_by_side(input_, result_))}) {
        const std::string file = (folder / name).string();
        if (const Status s = mosaic::write_png(file, picture); !s) return complain(s.error());
        files.push_back(file);
      }
    } else if (failed > 0) {
      fmt::print(stderr,
                 "No picture was written: what a failed kernel should have made is void.\n");
    }
    if (options_.json) {
      print_json(files);
    } else {
      for (const std::string& file : files) fmt::print(stderr, "wrote {}\n", file);
      if (status == exit_ok && isatty(STDOUT_FILENO) != 0)
        fmt::print("{}", mosaic::preview(result_, 72));
    }
    return status;
  }

  void print_json(const std::vector<std::string>& files) const {
    nlohmann::json list = nlohmann::json::array();
    for (const Row& r : rows_) {
      nlohmann::json row = {{"device", r.device}, {"name", r.name}, {"verdict", r.verdict}};
      if (r.unusable.empty()) {
        row["first_ms"] = r.first_ms;
        row["warm_ms"] = r.warm_ms;
        if (!r.full.empty()) {
          row["ratio_to_control"] = r.warm_ms / rows_.front().warm_ms;
          row["sha256"] = r.full;
        }
        if (!r.crop.empty()) row["crop_sha256"] = r.crop;
      }
      if (!r.error.empty()) row["error"] = r.error;
      list.push_back(row);
    }
    fmt::print("{}\n", nlohmann::json{{"schema", "tessera.demo/1"},
                                      {"demo", "mosaic"},
                                      {"width", input_.width},
                                      {"height", input_.height},
                                      {"stones", plan_.stones()},
                                      {"devices", list},
                                      {"files", files}}
                           .dump(2));
  }

  const DemoOptions& options_;
  Picture input_, crop_, result_;
  Plan plan_, crop_plan_;
  std::vector<Row> rows_;
  std::string usage_;
};

}  // namespace

int run_demo(const DemoOptions& options) {
  return Demo(options).run();
}

}  // namespace tessera::tools
