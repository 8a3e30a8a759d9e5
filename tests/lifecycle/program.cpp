// SPDX-License-Identifier: MIT OR Apache-2.0
#include "lifecycle/program.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string_view>
#include <thread>

namespace tessera::lifecycle {

void add_one(InOut<u32> x) {
  $if(absolute_pos < x.len()) {
    x[absolute_pos] += 1;
  }
}

void add_many(InOut<u32> x, Scalar<u32> rounds) {
  $if(absolute_pos < x.len()) {
    Var<u32> v = x[absolute_pos];
    for ([[maybe_unused]] auto i : range(Expr<u32>(0u), rounds)) v += 1u;
    x[absolute_pos] = v;
  }
}

void expect(bool good, const char* what) {
  if (!good) std::fprintf(stderr, "wrong: %s\n", what);
}

void fill(Holder& holder, const std::string& spec) {
  Result<Device> device = open(spec);
  if (!device) {
    std::fprintf(stderr, "%s\n", device.error().full().c_str());
    return;
  }
  holder.device = *device;
  holder.stream = device->new_stream();
  holder.buffer = device->full<u32>(300, 41u);
  launch<add_one>(*device, Grid::over(300), holder.buffer);
  expect(holder.buffer.to_vector() && (*holder.buffer.to_vector())[299] == 42, "42 is read back");
  holder.pending = holder.buffer.download(*holder.stream);
}

void work(const Device& device) {
  const Buffer<u32> x = device.full<u32>(1000, 1u);
  launch<add_one>(device, Grid::over(1000), x);
  const auto values = x.to_vector();
  expect(values && *values == std::vector<u32>(1000, 2u), "2 is read back");
}

void sleep_ms(unsigned n) {
  std::this_thread::sleep_for(std::chrono::milliseconds(n));
}

void wait_for_the_end() {
  for (;;) sleep_ms(1000);
}

unsigned chance(unsigned below) {
  static std::atomic<std::uint64_t> state{
      static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) +
      static_cast<std::uint64_t>(getpid()) * 7919};
  std::uint64_t x = state.fetch_add(0x9e3779b97f4a7c15u) + 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return static_cast<unsigned>((x >> 33) % below);
}

void keep_busy(const Device& device) {
  for (int t = 0; t < 3; ++t) {
    std::thread([device, t] {
      thread_local Holder mine;
      mine.device = device;
      const Stream stream = device.new_stream();
      for (u32 round = 0;; ++round) {
        const Buffer<u32> x = device.upload(std::vector<u32>(300 + round % 7, round));
        launch<add_one>(stream, Grid::over(300), x);
        auto dropped = x.download(stream);
        if (t == 0) (void)x.status();
        if (t == 1) (void)std::move(dropped).get();
        mine.buffer = x;
      }
    }).detach();
  }
}

namespace {

void expect_lost(const Status& status, const char* part, const char* call) {
  if (!status && status.error().kind() == ErrorKind::DeviceLost &&
      status.error().message().find("The device has been closed") != std::string::npos &&
      status.error().message().find(part) != std::string::npos) {
    return;
  }
  std::fprintf(stderr, "wrong: %s gives %s\n", call,
               status ? "success" : status.error().full().c_str());
}

template <class T>
Status status_of(const Result<T>& result) {
  return result ? Status() : Status(result.error());
}

}  // namespace

void expect_closed(Holder& h, const char* part) {
  const Device& device = *h.device;
  expect(!device.properties().name.empty(), "a closed device still has its name");
  expect_lost(device.sync(), part, "Device::sync()");
  expect_lost(h.stream->sync(), part, "Stream::sync()");
  expect_lost(h.stream->status(), part, "Stream::status()");
  h.stream->flush();
  expect_lost(h.buffer.status(), part, "Buffer::status()");
  expect_lost(status_of(h.buffer.to_vector()), part, "Buffer::to_vector()");
  std::vector<u32> to(300);
  expect_lost(h.buffer.download_to(to), part, "Buffer::download_to()");
  expect(h.pending->ready(), "a pending of a closed device is ready");
  expect(h.pending->wait_for(std::chrono::seconds(1)), "waiting for it is over at once");
  expect_lost(status_of(std::move(*h.pending).get()), part, "Pending::get()");
  expect_lost(launch<add_one>(device, Grid::over(300), h.buffer).status(), part, "launch()");
  expect_lost(launch<add_many>(device, Grid::over(300), h.buffer, 1u).status(), part,
              "launch() of a new kernel");
  h.buffer.fill(7).write(std::vector<u32>{1, 2}).label("closed");
  h.buffer.copy_from(h.buffer.clone());
  const Buffer<u32> made = device.upload(std::vector<u32>(100'000, 3));
  expect_lost(status_of(made.to_vector()), part, "reading what was made afterwards");
  expect_lost(status_of(device.zeros<u32>(0).to_vector()), part, "reading nothing");
}

}  // namespace tessera::lifecycle
