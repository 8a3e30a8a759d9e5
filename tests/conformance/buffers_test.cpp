// SPDX-License-Identifier: MIT OR Apache-2.0
// Uploads, copies, fills and reads of any size and offset; streams.
#include <numeric>

#include "conformance/on_device.hpp"

namespace tessera::conformance {
namespace {

class Buffers : public OnDevice {};
TESSERA_ON_DEVICES(Buffers);

std::vector<u8> bytes(std::size_t n, unsigned start) {
  std::vector<u8> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<u8>(start + i);
  return out;
}

TEST_P(Buffers, OddSizesAndOffsetsLeaveNeighboursAlone) {
  for (std::size_t offset = 0; offset < 5; ++offset) {
    for (std::size_t size : {1, 2, 3, 4, 5, 7, 8, 13}) {
      const auto to = device().full<u8>(32, u8{0xAA});
      const auto from = up(bytes(32, 1));
      std::vector<u8> want(32, 0xAA);

      to.slice(offset, size).write(bytes(size, 100));
      for (std::size_t i = 0; i < size; ++i) want[offset + i] = static_cast<u8>(100 + i);
      ASSERT_EQ(read(to), want) << "upload at " << offset << " of " << size;

      to.slice(offset + 2, size).copy_from(from.slice(3, size));
      for (std::size_t i = 0; i < size; ++i) want[offset + 2 + i] = static_cast<u8>(4 + i);
      ASSERT_EQ(read(to), want) << "copy to " << offset + 2 << " of " << size;

      to.slice(offset + 1, size).fill(u8{0x55});
      for (std::size_t i = 0; i < size; ++i) want[offset + 1 + i] = 0x55;
      ASSERT_EQ(read(to), want) << "fill at " << offset + 1 << " of " << size;

      ASSERT_EQ(read(from.slice(offset, size)), bytes(size, static_cast<unsigned>(1 + offset)));
    }
  }
}

TEST_P(Buffers, CopiesInsideOneBuffer) {
  const auto b = up(bytes(64, 0));
  b.slice(32, 16).copy_from(b.slice(1, 16));
  const auto out = read(b);
  for (std::size_t i = 0; i < 16; ++i) ASSERT_EQ(out[32 + i], 1 + i);
  b.slice(8, 16).copy_from(b.slice(0, 16));  // overlaps
  EXPECT_EQ(b.slice(8, 16).to_vector().error().root().kind(), ErrorKind::InvalidArgument);
}

TEST_P(Buffers, FillsOfEveryWidth) {
  EXPECT_EQ(read(device().full<u16>(5, u16{0x1234})), std::vector<u16>(5, 0x1234));
  EXPECT_EQ(read(device().full<f32>(5, 1.5f)), std::vector<f32>(5, 1.5f));
  EXPECT_EQ(read(device().full<u64>(5, u64{0x1122334455667788u})),
            std::vector<u64>(5, 0x1122334455667788u));
  EXPECT_EQ(read(device().zeros<u8>(7)), std::vector<u8>(7, 0));
}

TEST_P(Buffers, ManyUploadsKeepTheFirst) {
  std::vector<Buffer<u32>> all;
  for (u32 i = 0; i < 500; ++i) all.push_back(up(std::vector<u32>(17, i)));
  EXPECT_EQ(read(all[0]), std::vector<u32>(17, 0));
  EXPECT_EQ(read(all[499]), std::vector<u32>(17, 499));
}

TEST_P(Buffers, LargeUploadsAreMovedAndWhole) {
  std::vector<u32> values(600'000);
  std::iota(values.begin(), values.end(), 7u);
  const auto b = device().upload(std::vector<u32>(values));
  EXPECT_EQ(read(b), values);
}

void bump(InOut<u32> x) {
  $if(absolute_pos < x.len()) {
    x[absolute_pos] += 1;
  }
}

TEST_P(Buffers, WritesAndLaunchesOfOneBufferKeepTheirOrder) {
  const auto b = device().zeros<u32>(100);
  std::vector<Pending<std::vector<u32>>> seen;
  for (u32 i = 0; i < 20; ++i) {
    b.write(std::vector<u32>(100, 10 * i));
    launch<bump>(device(), Grid::over(100), b);
    seen.push_back(b.download());
  }
  for (u32 i = 0; i < 20; ++i) {
    EXPECT_EQ(std::move(seen[i]).get().value(), std::vector<u32>(100, 10 * i + 1));
  }
}

TEST_P(Buffers, StreamsHandABufferBackAndForth) {
  const Stream a = device().new_stream(), b = device().new_stream();
  const auto x = device().zeros<u32>(1000);
  for (int i = 0; i < 150; ++i) {
    launch<bump>(a, Grid::over(1000), x);
    launch<bump>(b, Grid::over(1000), x);
  }
  EXPECT_EQ(read(x), std::vector<u32>(1000, 300));
}

TEST_P(Buffers, MemoryIsReusedWhileItsLastOwnersWorkStillRuns) {
  const Stream a = device().new_stream(), b = device().new_stream();
  for (u32 round = 0; round < 30; ++round) {
    auto first = device().full<u32>(5000, round);
    const auto copy = poisoned(5000);
    copy.copy_from(a, first);
    first = Buffer<u32>();  // dropped while stream a still reads it
    const auto second = device().alloc<u32>(5000);
    second.fill(b, 0xffffffffu);  // may lie where it lay
    EXPECT_EQ(read(copy), std::vector<u32>(5000, round));
  }
}

TEST_P(Buffers, PendingWaitsWithoutConsuming) {
  auto pending = device().full<u32>(10, 4u).download();
  EXPECT_TRUE(pending.wait_for(std::chrono::seconds(20)));
  EXPECT_TRUE(pending.ready());
  EXPECT_EQ(std::move(pending).get().value(), std::vector<u32>(10, 4));
  {
    auto dropped = device().full<u32>(10, 4u).download();
  }
  EXPECT_EQ(read(device().full<u32>(10, 5u)), std::vector<u32>(10, 5));
}

TEST_P(Buffers, ReadIntoMemoryOfTheWrongSize) {
  std::vector<u32> to(3);
  const Status s = device().full<u32>(10, 4u).download_to(to);
  EXPECT_EQ(s.error().kind(), ErrorKind::InvalidArgument);
}

}  // namespace
}  // namespace tessera::conformance
