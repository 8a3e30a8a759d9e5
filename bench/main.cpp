// SPDX-License-Identifier: MIT OR Apache-2.0
// tessera-bench: what things cost, each beside a control row of the same run.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "bare_webgpu.hpp"
#include "ir/text.hpp"
#include "lang/trace.hpp"
#include "passes/prepare.hpp"
#include "row.hpp"
#include "server/command.hpp"
#include "server_rows.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/tessera.hpp"

namespace tessera::bench {
namespace {

void saxpy(In<f32> x, InOut<f32> y, Scalar<f32> a) {
  $if(absolute_pos < y.len()) {
    y[absolute_pos] = a * x[absolute_pos] + y[absolute_pos];
  }
}
struct Salt {
  u32 value = 0;
};
void salted(In<f32> x, InOut<f32> y, Salt salt) {
  $if(absolute_pos < y.len()) {
    y[absolute_pos] = x[absolute_pos] * static_cast<float>(salt.value) + y[absolute_pos];
  }
}

lang::TraceInput saxpy_input() {
  lang::TraceInput input;
  input.name = "saxpy";
  input.units = {256, 1, 1};
  input.bindings = {{"x", {Elem::f32, 1}, ir::Access::in, 0, false, ir::Access::none},
                    {"y", {Elem::f32, 1}, ir::Access::inout, 0, false, ir::Access::none}};
  input.scalars = {{"a", Elem::f32}};
  return input;
}

// The harness itself: the same empty loop on both sides. Must show 1.
Row harness_row() {
  volatile int sink = 0;
  const auto loop = [&] {
    return seconds([&] {
      for (int i = 0; i < 200000; ++i) sink = i;
    });
  };
  const auto [a, b] = medians(51, loop, loop);
  return {"harness", "host", "us", a * 1e6, "the same loop", b * 1e6};
}

Row trace_row() {
  const auto trace = [] {
    return seconds([] {
      (void)lang::trace(
          saxpy_input(), [](void*) { saxpy(In<f32>(0), InOut<f32>(1), Scalar<f32>(0)); }, nullptr);
    });
  };
  ir::Kernel kernel =
      lang::trace(
          saxpy_input(), [](void*) { saxpy(In<f32>(0), InOut<f32>(1), Scalar<f32>(0)); }, nullptr)
          .value();
  const std::string text = ir::print(kernel);
  const auto [a, b] = medians(501, trace, [&] { return seconds([&] { (void)ir::parse(text); }); });
  return {"trace saxpy", "host", "us", a * 1e6, "parsing its text form", b * 1e6};
}

Row prepare_row() {
  const ir::Kernel kernel =
      lang::trace(
          saxpy_input(), [](void*) { saxpy(In<f32>(0), InOut<f32>(1), Scalar<f32>(0)); }, nullptr)
          .value();
  const auto [a, b] = medians(
      501,
      [&] {
        ir::Kernel copy = kernel;
        return seconds([&] { (void)passes::prepare(copy); });
      },
      [&] { return seconds([&] { (void)ir::print(kernel); }); });
  return {"passes on saxpy", "host", "us", a * 1e6, "printing its text form", b * 1e6};
}

class DeviceRows {
 public:
  DeviceRows(Device device, std::unique_ptr<BareWebgpu> bare, std::uint64_t elements)
      : device_(std::move(device)), bare_(std::move(bare)), elements_(elements) {
    x_ = device_.full<f32>(elements_, 1.0f);
    y_ = device_.full<f32>(elements_, 2.0f);
    launch<saxpy>(device_, Grid::over(elements_), x_, y_, 2.0f);
    (void)device_.sync();
  }

  void run(std::vector<Row>& rows) {
    if (bare_ != nullptr) rows.push_back(compile());
    rows.push_back(enqueue());
    if (bare_ != nullptr) {
      rows.push_back(throughput());
      rows.push_back(read4());
    }
    rows.push_back(big_saxpy());
  }

 private:
  const std::string& name() const { return device_.properties().name; }

  Row compile() {
    int salt = 0;
    const Buffer<f32> a = device_.full<f32>(256, 1.0f), b = device_.full<f32>(256, 1.0f);
    (void)device_.sync();
    const auto [ours, control] = medians(
        15,
        [&] {
          return seconds([&] {
                   launch<salted>(device_, Grid::over(256), a, b, Salt{static_cast<u32>(++salt)});
                   (void)device_.sync();
                 }) *
                 1e3;
        },
        [&] { return bare_->compile_ms(++salt) + bare_->dispatches(1, 1, 256) * 1e3; });
    return {"first launch of a kernel", name(), "ms", ours, "bare pipeline and dispatch", control};
  }

  Row enqueue() {
    const Buffer<f32> a = device_.full<f32>(256, 1.0f), b = device_.full<f32>(256, 1.0f);
    constexpr int count = 200;
    launch<saxpy>(device_, Grid::over(256), a, b, 2.0f);
    std::mutex mutex;
    std::vector<std::byte> ring(1 << 20);
    std::size_t at = 0;
    const server::LaunchCommand command{};
    const auto [ours, control] = medians(
        51,
        [&] {
          (void)device_.sync();
          return seconds([&] {
                   for (int i = 0; i < count; ++i) {
                     launch<saxpy>(device_, Grid::over(256), a, b, 2.0f);
                   }
                 }) /
                 count * 1e9;
        },
        [&] {
          return seconds([&] {
                   for (int i = 0; i < count; ++i) {
                     const std::lock_guard lock(mutex);
                     std::memcpy(ring.data() + at, &command, sizeof command);
                     at = (at + 256) % (ring.size() - 512);
                   }
                 }) /
                 count * 1e9;
        });
    return {"enqueue on the caller's thread", name(), "ns", ours,
            "lock and copy of a command",     control};
  }

  Row throughput() {
    const Buffer<f32> a = device_.full<f32>(256, 1.0f), b = device_.full<f32>(256, 1.0f);
    constexpr int count = 2000;
    launch<saxpy>(device_, Grid::over(256), a, b, 2.0f);
    (void)device_.sync();
    const auto [ours, control] = medians(
        9,
        [&] {
          return count / seconds([&] {
                   for (int i = 0; i < count; ++i)
                     launch<saxpy>(device_, Grid::over(256), a, b, 2.0f);
                   (void)device_.sync();
                 });
        },
        [&] { return count / bare_->dispatches(count, 32, 256); });
    return {"launch throughput", name(), "1/s", ours, "bare dispatches, 32 a submit", control};
  }

  Row read4() {
    const Buffer<f32> a = device_.full<f32>(1, 1.0f);
    const auto [ours, control] = medians(
        201, [&] { return seconds([&] { (void)a.to_vector(); }) * 1e6; },
        [&] { return bare_->read4() * 1e6; });
    return {"read of 4 bytes", name(), "us", ours, "bare copy, map and wait", control};
  }

  Row big_saxpy() {
    const double bytes = 12.0 * static_cast<double>(elements_);
    std::vector<float> hx(elements_, 1.0f), hy(elements_, 2.0f);
    const auto host = [&] {
      return seconds([&] {
#pragma omp parallel for schedule(static)
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(elements_); ++i) {
          hy[static_cast<std::size_t>(i)] += 2.0f * hx[static_cast<std::size_t>(i)];
        }
      });
    };
    const auto control = [&] {
      return bytes / 1e9 / (bare_ != nullptr ? bare_->dispatches(1, 1, elements_) : host());
    };
    const auto [a, b] = medians(
        bare_ != nullptr ? 11 : 3,
        [&] {
          return bytes / 1e9 / seconds([&] {
                   launch<saxpy>(device_, Grid::over(elements_), x_, y_, 2.0f);
                   (void)device_.sync();
                 });
        },
        control);
    return {"saxpy", name(), "GB/s", a, bare_ != nullptr ? "bare dispatch" : "C++ with OpenMP", b};
  }

  Device device_;
  std::unique_ptr<BareWebgpu> bare_;
  std::uint64_t elements_;
  Buffer<f32> x_, y_;
};

int run(const std::vector<std::string>& wanted, bool json) {
  std::vector<Row> rows = {harness_row(), trace_row(), prepare_row()};
  server_rows(rows);
  Result<std::vector<driver::AdapterInfo>> adapters = driver::list_adapters({});
  for (const DeviceInfo& info : devices()) {
    if (!info.unusable.empty()) continue;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), info.spec) == wanted.end()) {
      continue;
    }
    const Result<Device> device = open(info.spec);
    if (!device) continue;
    const bool webgpu = info.driver == "webgpu";
    const std::uint64_t elements = webgpu ? 4'000'000 : 200'000;
    std::unique_ptr<BareWebgpu> bare;
    if (webgpu && adapters) {
      std::string why;
      bare = BareWebgpu::open(
          (*adapters)[static_cast<std::size_t>(std::stoul(info.spec.substr(7)))], elements, why);
      if (bare == nullptr) fmt::print(stderr, "{}: no control rows: {}\n", info.spec, why);
    }
    DeviceRows(*device, std::move(bare), elements).run(rows);
  }
  nlohmann::json list = nlohmann::json::array();
  for (const Row& r : rows) {
    if (json) {
      list.push_back({{"row", r.name},
                      {"device", r.device},
                      {"unit", r.unit},
                      {"value", r.value},
                      {"control", r.control_name},
                      {"control_value", r.control},
                      {"ratio", r.value / r.control}});
    } else {
      fmt::print("{:<32} {:<34} {:>12.2f} {:<5} control {:>12.2f}  ratio {:.3f}  ({})\n", r.name,
                 r.device.substr(0, 34), r.value, r.unit, r.control, r.value / r.control,
                 r.control_name);
    }
  }
  if (json)
    fmt::print("{}\n", nlohmann::json{{"schema", "tessera.bench/1"}, {"rows", list}}.dump(2));
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  CLI::App app{"What things cost, beside control rows of the same run"};
  bool json = false;
  std::vector<std::string> wanted;
  app.add_flag("--json", json, "Print one JSON object");
  app.add_option("--device", wanted, "Only these devices");
  CLI11_PARSE(app, argc, argv);
  return tessera::bench::run(wanted, json);
}
