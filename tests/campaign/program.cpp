// SPDX-License-Identifier: MIT OR Apache-2.0
#include "campaign/program.hpp"

#include <fmt/format.h>

#include <random>

#include "campaign/kernels.hpp"

namespace tessera::campaign {
namespace {

// Not std::uniform_int_distribution: its results differ between libraries.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15u + 1) {}
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  bool chance(std::uint32_t percent) { return below(100) < percent; }
  std::uint32_t number() { return static_cast<std::uint32_t>(random_()); }

 private:
  std::mt19937_64 random_;
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : dice_(seed) { program_.setting = setting(seed); }

  Program run() {
    for (int i = 0; i < 4; ++i) alloc(any_slot());
    const std::size_t length = 40 + dice_.below(160);
    while (program_.ops.size() < length) step();
    return std::move(program_);
  }

 private:
  Setting setting(std::uint64_t seed) {
    Setting s;
    s.seed = seed;
    s.queues = 1 + dice_.below(5);
    s.submit_every = 1 + dice_.below(12);
    s.late_news = dice_.chance(40);
    s.one_access_per_page = dice_.chance(20);
    s.drain_chance = dice_.chance(50) ? 100 : 20 + dice_.below(80);
    if (dice_.chance(10) && !s.one_access_per_page) s.memory_limit = 24 << 10;
    if (dice_.chance(60)) {
      s.fail = dice_.below(500);
      s.late = dice_.below(500);
    }
    if (dice_.chance(10)) s.lose = dice_.below(200);
    s.guard = dice_.chance(10);
    return s;
  }

  std::uint8_t any_slot() { return static_cast<std::uint8_t>(dice_.below(buffer_slots)); }
  // One that holds a buffer, where one of a few does.
  std::uint8_t slot() {
    std::uint8_t s = any_slot();
    for (int i = 0; i < 6 && sizes_[s] == 0; ++i) s = any_slot();
    return s;
  }

  // Kernels are bound at multiples of 16 elements, the simulator's alignment.
  Range range(std::uint8_t s, bool aligned) {
    const std::uint16_t size = sizes_[s];
    if (size == 0 || dice_.chance(55)) return {s, 0, size};
    if (aligned) {
      const auto begin = static_cast<std::uint16_t>(dice_.below((size + 15u) / 16) * 16);
      return {s, begin, static_cast<std::uint16_t>(1 + dice_.below(size - begin))};
    }
    const auto begin = static_cast<std::uint16_t>(dice_.below(size));
    return {s, begin, static_cast<std::uint16_t>(1 + dice_.below(size - begin))};
  }

  void add(Op op) {
    op.stream = static_cast<std::uint8_t>(dice_.below(6));
    program_.ops.push_back(op);
  }

  void alloc(std::uint8_t s) {
    Op op;
    op.kind = OpKind::alloc;
    op.r[0] = {s, 0, static_cast<std::uint16_t>(1 + dice_.below(dice_.chance(10) ? 700 : 80))};
    sizes_[s] = op.r[0].count;
    add(op);
    if (dice_.chance(85)) upload({s, 0, sizes_[s]});
  }

  void upload(Range r) {
    Op op;
    op.kind = OpKind::upload;
    op.r[0] = r;
    op.value = dice_.below(200);
    add(op);
  }

  void launch(bool dynamic) {
    Op op;
    op.kind = dynamic ? OpKind::launch_dynamic : OpKind::launch;
    op.kernel = static_cast<std::uint8_t>(dice_.below(kernel_count()));
    for (std::size_t i = 0; i < kernel_bindings(op.kernel); ++i) op.r[i] = range(slot(), true);
    if (dynamic) {
      const std::uint8_t s = slot();
      if (sizes_[s] < 3) return;
      op.r[3] = {s, static_cast<std::uint16_t>(dice_.below((sizes_[s] - 3u) / 16 + 1) * 16), 3};
      if (dice_.chance(80)) {
        Op count;
        count.kind = OpKind::upload_count;
        count.r[0] = op.r[3];
        count.value = dice_.below(8);
        add(count);
      }
    }
    add(op);
  }

  void plain(OpKind kind, std::uint32_t value = 0) {
    Op op;
    op.kind = kind;
    op.value = value;
    add(op);
  }

  void step() {
    const std::uint32_t pick = dice_.below(100);
    Op op;
    if (pick < 12) return alloc(any_slot());
    if (pick < 17) {
      op.kind = OpKind::drop;
      op.r[0].slot = slot();
      sizes_[op.r[0].slot] = 0;
      return add(op);
    }
    if (pick < 23) return upload(range(slot(), false));
    if (pick < 28) {
      op.kind = OpKind::fill;
      op.r[0] = range(slot(), false);
      op.value = dice_.below(100);
      return add(op);
    }
    if (pick < 36) {
      op.kind = OpKind::copy;
      op.r[0] = range(slot(), false);
      op.r[1] = range(slot(), false);
      const auto count = std::min(op.r[0].count, op.r[1].count);
      op.r[0].count = op.r[1].count = count;
      return add(op);
    }
    if (pick < 59) return launch(false);
    // Where memory is short the page of counts may not fit, which the model does not follow.
    if (pick < 68) return launch(program_.setting.memory_limit > (1 << 20));
    if (pick < 79) {
      op.kind = OpKind::read;
      op.value = 1 + dice_.below(3);
      for (std::uint32_t i = 0; i < op.value; ++i) op.r[i] = range(slot(), false);
      add(op);
      if (dice_.chance(50)) plain(OpKind::settle);
      return;
    }
    if (pick < 83) return plain(OpKind::settle);
    if (pick < 85) return plain(OpKind::sync, dice_.below(2));
    if (pick < 87) {
      op.kind = OpKind::status;
      op.r[0] = range(slot(), false);
      return add(op);
    }
    if (pick < 89) {
      op.kind = OpKind::refuse;
      op.r[0] = range(slot(), false);
      return add(op);
    }
    if (pick < 90) return plain(OpKind::flush);
    if (pick < 91) return plain(OpKind::idle);
    if (pick < 94) return plain(OpKind::drain, 1 + dice_.below(6));
    if (pick < 97) return plain(OpKind::compile);
    if (pick < 98) return plain(OpKind::window, dice_.below(2));
    if (pick < 99) {
      plain(OpKind::install, dice_.below(layouts));
      if (dice_.chance(50)) plain(OpKind::trim);
      return;
    }
    return plain(OpKind::trim);
  }

  Dice dice_;
  Program program_;
  std::array<std::uint16_t, buffer_slots> sizes_{};
};

}  // namespace

Program generate(std::uint64_t seed) {
  return Generator(seed).run();
}

std::string_view to_string(OpKind kind) {
  constexpr std::string_view names[] = {
      "alloc",          "drop",  "upload",  "upload_count", "fill",    "copy",   "launch",
      "launch_dynamic", "read",  "settle",  "sync",         "status",  "refuse", "flush",
      "idle",           "drain", "compile", "trim",         "install", "window"};
  return names[static_cast<std::size_t>(kind)];
}

std::string describe(const Op& op, std::size_t index) {
  std::string out = fmt::format("{:3}  {:<14} stream {}", index, to_string(op.kind), op.stream);
  const bool launch = op.kind == OpKind::launch || op.kind == OpKind::launch_dynamic;
  if (launch) out += fmt::format("  {}", kernel_name(op.kernel));
  for (std::size_t i = 0; i < op.r.size(); ++i) {
    if (op.r[i].count == 0) continue;
    out += fmt::format("  #{}[{}, {})", op.r[i].slot, op.r[i].begin, op.r[i].begin + op.r[i].count);
  }
  return out + fmt::format("  value {}", op.value);
}

}  // namespace tessera::campaign
