// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server_rows.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "client/device_core.hpp"
#include "lang/trace.hpp"
#include "null_driver.hpp"
#include "passes/prepare.hpp"
#include "server/command_writer.hpp"
#include "server/server.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/tessera.hpp"

namespace tessera::bench {
namespace {

using server::CommandWriter;

volatile std::uintptr_t sink;

Row pool_row() {
  NullDriver driver(1);
  server::Memory memory(driver, {}, server::PersistentPolicy::windows);
  constexpr int count = 100000;
  // Neighbours in use, so that the page is no empty one.
  std::vector<server::Block*> held;
  for (std::uint64_t i = 0; i < 64; ++i) held.push_back(memory.take(70000 + 256 * i, 0).value());
  const auto [ours, control] = medians(
      31,
      [&] {
        return seconds([&] {
                 for (int i = 0; i < count; ++i) {
                   server::Block* b = *memory.take(131072, 0);
                   sink = b->offset;
                   memory.give_back(b);
                 }
               }) /
               count * 1e9;
      },
      [&] {
        return seconds([&] {
                 for (int i = 0; i < count; ++i) {
                   void* p = std::malloc(100000);
                   sink = reinterpret_cast<std::uintptr_t>(p);
                   std::free(p);
                 }
               }) /
               count * 1e9;
      });
  for (server::Block* b : held) memory.give_back(b);
  return {"allocate and free in the pool", "server", "ns", ours,
          "malloc and free of 100 kB",     control};
}

// Whole calls of the public face; the executor works on the other core meanwhile, and its backlog
// counts.
Row client_row() {
  const Device device(
      std::make_shared<detail::DeviceCore>(std::make_unique<NullDriver>(1), detail::CoreConfig()));
  constexpr int count = 20000;
  const auto [ours, control] = medians(
      31,
      [&] {
        return seconds([&] {
                 for (int i = 0; i < count; ++i) {
                   const Buffer<u32> b = device.alloc<u32>(32768);
                   sink = b.size();
                 }
                 device.core()->executor().catch_up();
               }) /
               count * 1e9;
      },
      [&] {
        return seconds([&] {
                 for (int i = 0; i < count; ++i) {
                   auto p = std::make_shared<std::uint64_t>(i);
                   sink = *p;
                 }
               }) /
               count * 1e9;
      });
  return {"allocate and free through the client", "server", "ns", ours,
          "make and drop a shared pointer",       control};
}

void three(In<u32> a, In<u32> b, Out<u32> c) {
  $if(absolute_pos < c.len()) {
    c[absolute_pos] = a.load_or(absolute_pos, 0u) + b.load_or(absolute_pos, 0u);
  }
}

std::shared_ptr<const ir::Kernel> three_ir() {
  lang::TraceInput input;
  input.name = "three";
  input.units = {64, 1, 1};
  for (const char* name : {"a", "b", "c"}) {
    ir::BindingParam b;
    b.name = name;
    b.type = {Elem::u32, 1};
    b.declared = *name == 'c' ? ir::Access::out : ir::Access::in;
    input.bindings.push_back(std::move(b));
  }
  Result<ir::Kernel> kernel = lang::trace(
      std::move(input), [](void*) { three(In<u32>(0), In<u32>(1), Out<u32>(2)); }, nullptr);
  (void)passes::prepare(*kernel);
  return std::make_shared<const ir::Kernel>(*std::move(kernel));
}

// A launch of three buffers through claims, ordering and log, to a device that does nothing, among
// so many allocations that live. The control is the driver call alone.
Row launch_row(std::uint64_t live) {
  NullDriver driver(4);
  server::Shared shared;
  server::Loader loader(driver, 0, [] {});
  server::ServerConfig config;
  config.max_streams = 4;
  server::Server server(driver, loader, shared, config);
  const server::KernelRef kernel = loader.add(three_ir());
  const auto make = [&](std::uint64_t bytes) {
    CommandWriter<server::AllocCommand> command(0, SourceLoc{});
    command->allocation = shared.ids.next();
    command->bytes = bytes;
    server.execute(command.header());
    return command->allocation;
  };
  for (std::uint64_t i = 0; i < live; ++i) make(256);
  const server::AllocationId buffers[3] = {make(4096), make(4096), make(4096)};
  const server::KernelEntry& entry = loader.entry(kernel);
  CommandWriter<server::LaunchCommand> launch(1, SourceLoc::current(), 3, entry.layout.count);
  launch->kernel = kernel;
  launch->cubes = {16, 1, 1};
  launch->binding_count = 3;
  launch->parameter_count = entry.layout.count;
  for (int i = 0; i < 3; ++i) {
    server::Binding& b = launch.bindings()[i];
    b.allocation = buffers[i];
    b.bytes = 4096;
    b.access = i == 2 ? server::Access::out : server::Access::in;
    launch.parameters()[entry.layout.lengths + static_cast<std::uint32_t>(i)] = 1024;
  }
  for (int i = 0; i < 2; ++i) {
    CommandWriter<server::FillCommand> fill(0, SourceLoc{});
    fill->to = launch.bindings()[i];
    fill->width = 4;
    server.execute(fill.header());
  }
  server.execute(launch.header());
  while (loader.compile_next()) server.retry_parked();

  constexpr int count = 20000;
  driver::Region regions[3] = {{1, 0, 4096}, {1, 4096, 4096}, {1, 8192, 4096}};
  driver::LaunchDesc bare;
  bare.bindings = regions;
  driver::Driver& any = driver;
  const auto [ours, control] = medians(
      31,
      [&] {
        return seconds([&] {
                 for (int i = 0; i < count; ++i) {
                   launch->header.stream = static_cast<server::StreamId>(i >> 4 & 1);
                   server.execute(launch.header());
                 }
               }) /
               count * 1e9;
      },
      [&] {
        return seconds([&] {
                 for (int i = 0; i < count; ++i) sink = *any.launch(0, bare);
               }) /
               count * 1e9;
      });
  return {fmt::format("books of a launch, {} allocations live", live),
          "server",
          "ns",
          ours,
          "the driver call alone",
          control};
}

// A program's worth of buffers of mixed sizes, most of which die; then what a change of layout with
// relocation gives back, and for how long the executor is busy with it.
void fragmentation_rows(std::vector<Row>& rows) {
  double recovered = 0, before = 0, pause = 0, moved = 0;
  std::vector<double> pauses, copies;
  for (int round = 0; round < 5; ++round) {
    detail::CoreConfig config;
    config.server.layout = MemoryLayout::sub_slices();
    const Device device(
        std::make_shared<detail::DeviceCore>(std::make_unique<NullDriver>(1), config));
    std::mt19937 random(17);
    std::vector<Buffer<u32>> held;
    for (int i = 0; i < 4000; ++i) {
      held.push_back(device.alloc<u32>(1 + random() % (64u << random() % 14)));
    }
    for (std::size_t i = held.size(); i > 0; --i) {
      if (random() % 10 != 0) {
        std::swap(held[i - 1], held.back());
        held.pop_back();
      }
    }
    (void)device.trim();
    const MemoryReport fragmented = device.memory();
    (void)device.install(MemoryLayout::adaptive());
    pauses.push_back(seconds([&] { (void)device.trim(); }) * 1e3);
    const MemoryReport compact = device.memory();
    before = static_cast<double>(fragmented.reserved);
    recovered = before - static_cast<double>(compact.reserved);
    moved = static_cast<double>(compact.bytes);
    std::vector<std::byte> from(compact.bytes), to(compact.bytes);
    copies.push_back(seconds([&] { std::memcpy(to.data(), from.data(), from.size()); }) * 1e3);
    sink = static_cast<std::uintptr_t>(to.back());
  }
  std::nth_element(pauses.begin(), pauses.begin() + 2, pauses.end());
  std::nth_element(copies.begin(), copies.begin() + 2, copies.end());
  pause = pauses[2];
  rows.push_back({"fragmentation replay: recovered", "server", "MiB", recovered / 1048576,
                  "reserved before", before / 1048576});
  rows.push_back({fmt::format("fragmentation replay: pause, {:.0f} MiB live", moved / 1048576),
                  "server", "ms", pause, "memcpy of what is live", copies[2]});
}

}  // namespace

void server_rows(std::vector<Row>& rows) {
  rows.push_back(pool_row());
  rows.push_back(client_row());
  for (const std::uint64_t live : {0, 1000, 1000000}) rows.push_back(launch_row(live));
  fragmentation_rows(rows);
}

}  // namespace tessera::bench
