// SPDX-License-Identifier: MIT OR Apache-2.0
// Device memory over time, and host memory on its way: what users of such software have met.
#include <fstream>
#include <random>

#include "conformance/on_device.hpp"

namespace tessera::conformance {
namespace {

constexpr std::uint64_t kib = 1024, mib = 1024 * kib;

class Memory : public OnDevice {
 protected:
  // The simulator keeps a flag per byte and the interpreter copies bytes one by one.
  bool slow() const { return !webgpu(); }
  static std::uint64_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::uint64_t total = 0, resident = 0;
    file >> total >> resident;
    return resident * 4096;
  }
};

void stamp(InOut<u32> a, Scalar<u32> value) {
  $if(absolute_pos < a.len()) {
    a[absolute_pos] = value;
  }
}
// A chain of additions that takes its time.
void spin(InOut<u32> a, Scalar<u32> rounds) {
  $if(absolute_pos == 0) {
    Var<u32> n = a[0];
    for (const auto i : range(rounds)) {
      n = n * 1664525u + 1013904223u + i;
    }
    a[0] = n;
  }
}
void add_one(In<u32> a, Out<u32> b) {
  $if(absolute_pos < b.len()) {
    b[absolute_pos] = a[absolute_pos] + 1;
  }
}

TEST_P(Memory, Entry33MemoryDoesNotCreepUpWithLaunches) {
  std::mt19937 random(33);
  const int rounds = 10000;
  std::uint64_t reserved = 0, resident = 0;
  for (int i = 1; i <= rounds; ++i) {
    // Element counts so that sizes are even over the powers of two from 1 KiB to 8 MiB.
    const std::uint64_t bytes = kib << random() % 14;
    const Buffer<u32> b = device().alloc<u32>((bytes + random() % bytes) / 8 + 64);
    const Buffer<u32> first = b.slice(0, 64);
    first.fill(1);
    launch<stamp>(device(), Grid::over(64), first, static_cast<u32>(i));
    if (i == rounds / 10) {
      reserved = device().memory().reserved;
      resident = resident_bytes();
    }
  }
  const MemoryReport after = device().memory();
  EXPECT_LE(after.reserved, reserved + 10 * mib);  // one page of the largest
  // Logs of the sanitizers and the simulator's history grow with what was done. A software GPU's
  // memory is the host's and becomes resident where it is first touched, at most all of it.
  if (webgpu()) {
    EXPECT_LE(resident_bytes(), resident + after.reserved + 5 * mib);
  }
  ASSERT_TRUE(device().sync().has_value());
}

TEST_P(Memory, Entry33MemoryDoesNotCreepUpWithWritesAlone) {
  const Buffer<u32> b = device().zeros<u32>(256);
  const std::vector<u32> values(256, 7);
  std::uint64_t staging = 0;
  for (int i = 0; i < 10000; ++i) {
    b.write(values);
    staging = std::max(staging, i % 500 == 0 ? device().memory().staging : 0);
  }
  EXPECT_LE(staging, 64 * mib);
  ASSERT_TRUE(device().sync().has_value());
  EXPECT_EQ(read(b), values);
  ASSERT_TRUE(device().trim().has_value());
  EXPECT_EQ(device().memory().staging, 0u);
}

TEST_P(Memory, Entry34CleanupLeavesHandlesThatAreHeldAlone) {
  const std::uint64_t bytes = slow() ? 4 * mib : 64 * mib;
  const std::uint64_t n = bytes / 4;
  // A new arena: pages for this size, one buffer each.
  ASSERT_TRUE(device().install(MemoryLayout::adaptive()).has_value());
  ASSERT_TRUE(device().trim().has_value());
  const Buffer<u32> a = device().full<u32>(n, 0xaaaaaaaau);
  Buffer<u32> b = device().full<u32>(n, 0xbbbbbbbbu);
  const Buffer<u32> c = device().full<u32>(n, 0xccccccccu);
  const auto all = [&](const Buffer<u32>& buffer, u32 value) {
    const std::vector<u32> got = read(buffer);
    return got.size() == n &&
           std::all_of(got.begin(), got.end(), [&](u32 v) { return v == value; });
  };
  const std::uint64_t before = device().memory().reserved;
  b = Buffer<u32>();
  ASSERT_TRUE(device().trim().has_value());
  EXPECT_LE(device().memory().reserved + bytes, before);
  EXPECT_TRUE(all(a, 0xaaaaaaaau));
  EXPECT_TRUE(all(c, 0xccccccccu));
  const Buffer<u32> d = device().full<u32>(n, 0xddddddddu);
  EXPECT_TRUE(all(a, 0xaaaaaaaau));
  EXPECT_TRUE(all(c, 0xccccccccu));
  EXPECT_TRUE(all(d, 0xddddddddu));
}

TEST_P(Memory, Entry34ManyShortLivesUnderACapWithCleanups) {
  const Stream stream = device().new_stream();
  const StreamScope scope(stream);
  stream.cap_memory(1 * mib);
  const Buffer<u32> held = device().full<u32>(1000, 5);
  for (u32 i = 0; i < 260; ++i) {
    const Buffer<u32> b = device().full<u32>(10000 + i, i);
    launch<stamp>(device(), Grid::over(64), b.slice(0, 64), i + 1);
    if (i % 10 == 9) {
      ASSERT_TRUE(device().trim().has_value());
      EXPECT_EQ(read(b)[0], i + 1);
      EXPECT_EQ(read(b)[9999], i);
    }
  }
  EXPECT_EQ(read(held), std::vector<u32>(1000, 5));
}

TEST_P(Memory, Entry36FullIsNotForEver) {
  const Stream stream = device().new_stream();
  const StreamScope scope(stream);
  const std::uint64_t block = 1 * mib;
  stream.cap_memory(8 * block);
  std::vector<Buffer<u32>> blocks;
  for (;;) {
    blocks.push_back(device().full<u32>(block / 4, 1));
    ASSERT_LE(blocks.size(), 9u);
    ASSERT_TRUE(device().memory().reserved > 0);  // executed by now
    if (!blocks.back().status()) break;
  }
  EXPECT_EQ(blocks.size(), 9u);
  const auto works = [&] {
    const Buffer<u32> out = device().full<u32>(4, 0xdeadbeefu);
    launch<add_one>(device(), Grid::over(4), device().full<u32>(4, 1), out);
    EXPECT_EQ(read(out), std::vector<u32>(4, 2));
  };
  Result<std::vector<u32>> refused = blocks.back().to_vector();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().root().kind(), ErrorKind::OutOfMemory);
  EXPECT_NE(refused.error().root().message().find("1048576"), std::string::npos);
  blocks.clear();
  works();
  // What is cached counts for nobody.
  const Buffer<u32> half = device().full<u32>(4 * block / 4, 3);
  EXPECT_EQ(read(half.slice(0, 4)), std::vector<u32>(4, 3));
  // Never, as opposed to not now.
  const std::uint64_t limit = device().properties().buffer_limit;
  const Buffer<u32> never = device().alloc<u32>(limit / 2);
  refused = never.to_vector();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().root().kind(), ErrorKind::TooLarge);
  // Held to the brim, one more is refused, and goes once one was released.
  Buffer<u32> rest = device().full<u32>(3 * block / 4, 4);
  EXPECT_FALSE(device().full<u32>(2 * block / 4, 5).to_vector().has_value());
  works();
  rest = Buffer<u32>();
  EXPECT_EQ(read(device().full<u32>(2 * block / 4, 5).slice(0, 1)), std::vector<u32>(1, 5));
}

TEST_P(Memory, Entry38AReusedBlockRemembersWhoUsesIt) {
  const std::uint64_t n = (slow() ? 256 * kib : 4 * mib) / 4;
  const Stream a = device().new_stream(), b = device().new_stream(), c = device().new_stream();
  const Buffer<u32> clock = device().zeros<u32>(1);
  for (int round = 0; round < 50; ++round) {
    {
      const Buffer<u32> x = device().alloc<u32>(n);
      launch<spin>(a, Grid::over(1), clock, slow() ? 50u : 100000u);
      x.fill(a, 0xaaaaaaaau);
    }
    {
      const StreamScope scope(b);
      const Buffer<u32> merged = device().alloc<u32>(n + n / 2);  // needs neighbours joined
      merged.slice(0, 1).fill(b, 1);
    }
    const StreamScope scope(c);
    const Buffer<u32> y = device().alloc<u32>(n);
    y.fill(c, 0xccccccccu);
    Result<std::vector<u32>> got = y.download(c).get();
    ASSERT_TRUE(got.has_value()) << got.error().full();
    ASSERT_EQ(std::count(got->begin(), got->end(), 0xccccccccu), static_cast<long>(n)) << round;
  }
}

TEST_P(Memory, Entry40HostMemoryMayGoAtOnce) {
  const std::uint64_t bytes = slow() ? 1 * mib : 16 * mib;
  const Stream stream = device().new_stream();
  const Buffer<u32> clock = device().zeros<u32>(1);
  const Buffer<u8> big = device().full<u8>(bytes, 1);
  launch<spin>(stream, Grid::over(1), clock, slow() ? 200u : 2000000u);
  {
    std::vector<u8> source(bytes, 7);
    big.write(stream, source);
    std::fill(source.begin(), source.end(), u8{9});
  }
  std::vector<Buffer<u32>> small;
  for (u32 i = 0; i < 100; ++i) {
    std::vector<u32> source(32, i);
    small.push_back(device().full<u32>(32, 0xdeadbeefu));
    small.back().write(stream, source);
    std::fill(source.begin(), source.end(), 9u);
  }
  Result<std::vector<u8>> got = big.download(stream).get();
  ASSERT_TRUE(got.has_value()) << got.error().full();
  EXPECT_EQ(std::count(got->begin(), got->end(), u8{7}), static_cast<long>(bytes));
  for (u32 i = 0; i < 100; ++i) EXPECT_EQ(read(small[i]), std::vector<u32>(32, i));
}

TEST_P(Memory, Entry40AMovedVectorIsReadWhereItLies) {
  const Buffer<u32> clock = device().zeros<u32>(1);
  launch<spin>(device(), Grid::over(1), clock, slow() ? 200u : 1000000u);
  const Buffer<u32> b = device().upload(std::vector<u32>(100000, 7));
  std::vector<u32> other(100000, 9);  // would land in the memory of one that was let go too early
  EXPECT_EQ(read(b), std::vector<u32>(100000, 7));
  EXPECT_EQ(other.front(), 9u);
}

TEST_P(Memory, Entry41WritesStayBetweenTheirNeighbours) {
  const auto one = [&](u32 value) { return std::vector<u32>(1, value); };
  const Buffer<u32> x = device().full<u32>(1, 0xdeadbeefu);
  const Buffer<u32> y0 = poisoned(1), y1 = poisoned(1), z = poisoned(1);
  x.write(one(1));
  y0.copy_from(x);
  x.write(one(2));
  y1.copy_from(x);
  z.copy_from(x);
  x.write(one(3));
  device().stream().flush();
  EXPECT_EQ(read(y0), one(1));
  EXPECT_EQ(read(y1), one(2));
  EXPECT_EQ(read(z), one(2));
  EXPECT_EQ(read(x), one(3));

  std::vector<Buffer<u32>> outputs;
  for (u32 i = 0; i < 100; ++i) {
    x.write(one(i - 1));
    outputs.push_back(poisoned(1));
    launch<add_one>(device(), Grid::over(1), x, outputs.back());
  }
  for (u32 i = 0; i < 100; ++i) EXPECT_EQ(read(outputs[i]), one(i));
}

TESSERA_ON_DEVICES(Memory);

}  // namespace
}  // namespace tessera::conformance
