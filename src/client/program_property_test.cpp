// SPDX-License-Identifier: MIT OR Apache-2.0
// Random programs over several streams against a sequential model, on the simulator: whatever the
// interleaving of its queues, the results are those of the calls in order, no two accesses meet
// without an order, and nothing is read that nobody wrote.
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "client/device_core.hpp"
#include "driver/sim/sim_driver.hpp"
#include "tessera/lang/dollar.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {

void add_into(In<u32> a, InOut<u32> b) {
  $if(absolute_pos < b.len()) {
    b[absolute_pos] = b[absolute_pos] * 3 + a.load_or(absolute_pos, 7u);
  }
}
// Faults where the first element is a multiple of five.
void may_fault(In<u32> a, Out<u32> b) {
  check(a[0] % 5 != 0, "not a multiple of five");
  $if(absolute_pos < b.len()) {
    b[absolute_pos] = a.load_or(absolute_pos, 1u) + 11;
  }
}

struct Model {
  Buffer<u32> buffer;
  std::optional<std::vector<u32>> values;  // none: failed
};

class Program {
 public:
  Program(std::uint64_t seed, std::uint32_t queues) : random_(static_cast<unsigned>(seed)) {
    driver::SimOptions options;
    options.seed = seed;
    options.queues = queues;
    auto sim = driver::make_sim(options);
    checker_ = static_cast<driver::SimDriver*>(sim.get());
    detail::CoreConfig config;
    // Small pages: much reuse.
    config.server.layout = MemoryLayout::custom({SlicedPool{1 << 16}, ExclusivePool{}});
    config.server.submit_every = 4;
    device_.emplace(std::make_shared<detail::DeviceCore>(std::move(sim), config));
    for (int i = 0; i < 3; ++i) streams_.push_back(device_->new_stream());
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
    while (!live_.empty()) check_and_drop(live_.size() - 1);
    const auto violations = checker_->violations();
    ASSERT_TRUE(violations.empty()) << violations.front();
  }

 private:
  std::size_t pick(std::size_t n) { return random_() % n; }
  const Stream& stream() { return streams_[pick(streams_.size())]; }

  void step() {
    if (live_.size() < 2) return make();
    Model& a = live_[pick(live_.size())];
    Model& b = live_[pick(live_.size())];
    switch (pick(9)) {
      case 0:
        return make();
      case 1:
        return check_and_drop(pick(live_.size()));
      case 2:  // dropped without a look, while work may still run on it
        live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(pick(live_.size())));
        return;
      case 3: {
        const std::vector<u32> values(b.buffer.size(), static_cast<u32>(random_()));
        b.buffer.write(stream(), values);
        b.values = values;
        return;
      }
      case 4: {
        const u32 value = static_cast<u32>(random_());
        b.buffer.fill(stream(), value);
        b.values = std::vector<u32>(b.buffer.size(), value);
        return;
      }
      case 5:
        if (&a == &b || a.buffer.size() != b.buffer.size()) return;
        b.buffer.copy_from(stream(), a.buffer);
        b.values = a.values;
        return;
      case 6:
        return check(b);
      case 7: {
        if (&a == &b) return;
        launch<add_into>(stream(), Grid::over(b.buffer.size(), 16), a.buffer, b.buffer);
        if (!a.values) b.values.reset();
        if (!b.values) return;
        for (std::size_t i = 0; i < b.values->size(); ++i) {
          (*b.values)[i] = (*b.values)[i] * 3 + (i < a.values->size() ? (*a.values)[i] : 7);
        }
        return;
      }
      default: {
        if (&a == &b) return;
        launch<may_fault>(stream(), Grid::over(b.buffer.size(), 16), a.buffer, b.buffer);
        if (!a.values || (*a.values)[0] % 5 == 0) return b.values.reset();
        b.values = std::vector<u32>(b.buffer.size());
        for (std::size_t i = 0; i < b.values->size(); ++i) {
          (*b.values)[i] = (i < a.values->size() ? (*a.values)[i] : 1) + 11;
        }
      }
    }
  }

  void make() {
    const std::size_t n = 1 + pick(400);
    const std::vector<u32> values(n, static_cast<u32>(random_()));
    live_.push_back({device_->upload(values), values});
  }

  void check(const Model& m) {
    const Result<std::vector<u32>> got = m.buffer.download(stream()).get();
    ASSERT_EQ(got.has_value(), m.values.has_value()) << (got ? "" : got.error().full());
    if (got) {
      ASSERT_EQ(*got, *m.values);
    } else {
      ASSERT_EQ(got.error().root().kind(), ErrorKind::KernelFault);
    }
  }
  void check_and_drop(std::size_t i) {
    check(live_[i]);
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  std::mt19937 random_;
  driver::SimDriver* checker_ = nullptr;
  std::optional<Device> device_;
  std::vector<Stream> streams_;
  std::vector<Model> live_;
};

class Programs : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Programs, AgreeWithTheCallsInOrder) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Program(seed, GetParam()).run(120);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Queues, Programs, testing::Values(1u, 2u, 3u, 4u));

}  // namespace
}  // namespace tessera
