// SPDX-License-Identifier: MIT OR Apache-2.0
// Ways to end a process that has devices.
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "client/device_registry.hpp"
#include "driver/sim/sim_driver.hpp"
#include "lifecycle/program.hpp"

namespace tessera::lifecycle {
namespace {

// Destroyed after the exit handler, since it was made before any device.
struct Early {
  Holder holder;
  bool calls = false;
  ~Early() {
    if (calls) expect_closed(holder, "the process is ending");
  }
} early;

// Opened while the program was still making its static objects.
Holder& opened_early() {
  static Holder holder = [] {
    Holder made;
    if (const char* spec = std::getenv("TESSERA_LIFECYCLE_OPEN_EARLY")) fill(made, spec);
    return made;
  }();
  return holder;
}
[[maybe_unused]] const bool before_main = (opened_early(), true);

// Destroyed before the exit handler, since it is made after the device.
void hold_late(const std::string& spec) {
  static Holder late;
  fill(late, spec);
}

void hold_in_thread(const std::string& spec) {
  thread_local Holder mine;
  fill(mine, spec);
}

void hold_everywhere(const std::string& spec) {
  fill(early.holder, spec);
  hold_late(spec);
  hold_in_thread(spec);
}

[[noreturn]] void exit_in_another_thread() {
  std::thread([] { std::exit(0); }).detach();
  wait_for_the_end();
}

// Clones of the last handles, dropped on their own threads around the moment of the exit.
void drop_around_exit(const std::string& spec, bool thread_local_too) {
  Result<Device> device = open(spec);
  if (!device) return expect(false, "the device opens");
  work(*device);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([clone = *device, thread_local_too, t]() mutable {
      thread_local std::optional<Holder> mine;
      Buffer<u32> x = clone.full<u32>(100, 1u);
      if (thread_local_too) {
        mine.emplace();
        mine->device = clone;
        mine->buffer = x;
        mine->pending = x.download();
      }
      sleep_ms(1 + (t == 0 ? 0 : chance(10)));
      x = {};
      {
        const Device last = std::move(clone);
      }
    });
  }
  device = Error(ErrorKind::Io, "dropped");
  threads[0].join();
  for (int t = 1; t < 4; ++t) threads[static_cast<std::size_t>(t)].detach();
  std::exit(0);
}

template <u32 n>
void add_constant(InOut<u32> x) {
  $if(absolute_pos < x.len()) {
    x[absolute_pos] += n;
  }
}

// A device whose work never ends and whose driver never answers.
class Hung final : public driver::SimDriver {
 public:
  using SimDriver::SimDriver;
  Result<driver::Ticket> launch(driver::QueueId, const driver::LaunchDesc&) override {
    wait_for_the_end();
  }
};

void open_hung() {
  driver::SimOptions options;
  options.instant = true;
  auto core = client::keep_device(
      "hung",
      std::make_shared<detail::DeviceCore>(std::make_unique<Hung>(options), detail::CoreConfig{}));
  early.holder.device = Device(core);
  early.holder.stream = early.holder.device->new_stream();
  early.holder.buffer = early.holder.device->full<u32>(300, 1u);
  early.holder.pending = early.holder.buffer.download();
  early.calls = true;
  (void)early.holder.buffer.to_vector();
  launch<add_one>(*early.holder.device, Grid::over(300), early.holder.buffer);
  sleep_ms(50);  // the executor is in it now, with its lock
}

}  // namespace

int exit_mode(const std::string& mode, const std::string& spec) {
  if (mode == "return") {
    hold_everywhere(spec);
    return 0;
  }
  if (mode == "return-early") {  // the runner had it opened before main()
    expect(opened_early().device.has_value(), "it was opened before main()");
    hold_everywhere(spec);
    return 0;
  }
  if (mode == "exit") {
    hold_everywhere(spec);
    std::exit(0);
  }
  if (mode == "exit-in-thread") {
    hold_everywhere(spec);
    exit_in_another_thread();
  }
  if (mode == "exit-in-thread-busy") {
    hold_everywhere(spec);
    keep_busy(*early.holder.device);
    sleep_ms(chance(4));
    exit_in_another_thread();
  }
  if (mode == "throw") {
    hold_everywhere(spec);
    throw std::runtime_error("the user's own words");
  }
  if (mode == "calls-afterwards") {
    hold_everywhere(spec);
    early.calls = true;
    return 0;
  }
  if (mode == "drop-around-exit" || mode == "drop-around-exit-thread-local") {
    drop_around_exit(spec, mode != "drop-around-exit");
    return 0;
  }
  if (mode == "in-flight") {
    hold_everywhere(spec);
    const Device& device = *early.holder.device;
    // Tens of milliseconds each: begun when the process ends, most of them not.
    for (int i = 0; i < 20; ++i) {
      launch<add_many>(device, Grid::over(300), early.holder.buffer,
                       spec == "cpu" ? 1000u : 1'000'000u);
      if (i % 4 == 0) early.holder.pending = early.holder.buffer.download();
    }
    return 0;
  }
  if (mode == "while-compiling") {
    hold_everywhere(spec);
    launch<add_constant<1>>(*early.holder.device, Grid::over(300), early.holder.buffer);
    launch<add_constant<2>>(*early.holder.device, Grid::over(300), early.holder.buffer);
    launch<add_constant<3>>(*early.holder.device, Grid::over(300), early.holder.buffer);
    sleep_ms(chance(3));
    return 0;
  }
  if (mode == "while-opening") {
    std::thread([spec] {
      if (Result<Device> device = open(spec)) {
        for (;;) (void)device->full<u32>(10, 1u).to_vector();
      }
      wait_for_the_end();
    }).detach();
    sleep_ms(chance(2));
    return 0;
  }
  if (mode == "too-long") {  // for the exit to wait for
    hold_everywhere(spec);
    const Device& device = *early.holder.device;
    const u32 rounds = spec == "cpu" ? 3'000'000u : 2'000'000'000u;
    for (int i = 0; i < 2; ++i) {
      launch<add_many>(device, Grid::over(512), device.zeros<u32>(512), rounds);
    }
    device.stream().flush();
    sleep_ms(100);
    return 0;
  }
  if (mode == "hung") {
    hold_everywhere(spec);  // a sound device beside it
    open_hung();
    return 0;
  }
  return -1;
}

}  // namespace tessera::lifecycle
