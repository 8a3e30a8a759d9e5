// SPDX-License-Identifier: MIT OR Apache-2.0
// Memory and streams as users see them, on every device.
#include <thread>

#include "conformance/on_device.hpp"

namespace tessera::conformance {
namespace {

class MemoryAndStreams : public OnDevice {
 protected:
  // Layouts are the device's own affair, so these tests put the default back.
  void TearDown() override {
    EXPECT_TRUE(device().install(MemoryLayout::adaptive()).has_value());
    EXPECT_TRUE(device().trim().has_value());
  }
};

void twice(In<u32> a, Out<u32> b) {
  $if(absolute_pos < b.len()) {
    b[absolute_pos] = a[absolute_pos] * 2;
  }
}

TEST_P(MemoryAndStreams, TheReportAddsUp) {
  const MemoryReport before = device().memory();
  const Buffer<u32> a = device().zeros<u32>(1000);
  const Buffer<u32> b = device().zeros<u32>(100000);
  const MemoryReport with = device().memory();
  EXPECT_EQ(with.live, before.live + 2);
  EXPECT_EQ(with.bytes, before.bytes + 4000 + 400000);
  EXPECT_GE(with.reserved, with.bytes + with.padding);
  std::uint64_t live = 0, reserved = 0, of_streams = 0;
  for (const PoolReport& p : with.pools) {
    EXPECT_FALSE(p.kind.empty());
    live += p.live;
    reserved += p.reserved;
  }
  for (const StreamMemory& s : with.streams) of_streams += s.bytes;
  EXPECT_EQ(live, with.live);
  EXPECT_EQ(reserved, with.reserved);
  EXPECT_EQ(of_streams, with.bytes);
}

TEST_P(MemoryAndStreams, BuffersMoveOutOfAnEarlierLayoutAndKeepTheirBytes) {
  ASSERT_TRUE(device().trim().has_value());
  std::vector<Buffer<u32>> buffers;
  for (u32 i = 0; i < 20; ++i) buffers.push_back(device().full<u32>(500 + i, i));
  const Buffer<u32> bad = device().full<u32>(64, 1);
  bad.write(std::vector<u32>(65, 1));  // refused: a failure moves along
  ASSERT_TRUE(device().install(MemoryLayout::exclusive_pages()).has_value());
  const Buffer<u32> out = poisoned(500);
  launch<twice>(device(), Grid::over(500), buffers[7].slice(0, 500), out);
  ASSERT_TRUE(device().trim().has_value());
  for (const PoolReport& p : device().memory().pools) EXPECT_FALSE(p.outdated) << p.kind;
  EXPECT_EQ(read(out), std::vector<u32>(500, 14));
  for (u32 i = 0; i < 20; ++i) EXPECT_EQ(read(buffers[i]), std::vector<u32>(500 + i, i));
  EXPECT_EQ(bad.to_vector().error().root().kind(), ErrorKind::InvalidArgument);
}

TEST_P(MemoryAndStreams, APinnedBufferStays) {
  ASSERT_TRUE(device().trim().has_value());
  const Buffer<u32> buffer = device().full<u32>(256, 9);
  {
    Result<Resource> resource = buffer.resource();
    ASSERT_TRUE(resource.has_value()) << resource.error().full();
    EXPECT_EQ(resource->bytes(), 1024u);
    EXPECT_NE(resource->native(), 0u);
    ASSERT_TRUE(device().install(MemoryLayout::exclusive_pages()).has_value());
    ASSERT_TRUE(device().trim().has_value());
    EXPECT_EQ(buffer.resource()->native(), resource->native());
    EXPECT_EQ(buffer.resource()->offset(), resource->offset());
    bool outdated = false;
    for (const PoolReport& p : device().memory().pools) outdated = outdated || p.outdated;
    EXPECT_TRUE(outdated);
  }
  ASSERT_TRUE(device().trim().has_value());
  for (const PoolReport& p : device().memory().pools) EXPECT_FALSE(p.outdated) << p.kind;
  EXPECT_EQ(read(buffer), std::vector<u32>(256, 9));
}

TEST_P(MemoryAndStreams, AResourceOfAFailedBufferIsItsReason) {
  const Buffer<u32> buffer = device().full<u32>(4, 1);
  buffer.write(std::vector<u32>(5, 1));
  const Result<Resource> resource = buffer.resource();
  ASSERT_FALSE(resource.has_value());
  EXPECT_EQ(resource.error().kind(), ErrorKind::BufferFailed);
  EXPECT_EQ(resource.error().root().kind(), ErrorKind::InvalidArgument);
}

TEST_P(MemoryAndStreams, ALayoutThatCannotBeIsRefusedAndChangesNothing) {
  const Buffer<u32> buffer = device().full<u32>(16, 3);
  const Status refused = device().install(MemoryLayout::custom({SlicedPool{1024, 2048}}));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind(), ErrorKind::InvalidArgument);
  EXPECT_FALSE(device().install(MemoryLayout::custom({})).has_value());
  EXPECT_EQ(read(buffer), std::vector<u32>(16, 3));
  EXPECT_EQ(read(device().full<u32>(16, 4)), std::vector<u32>(16, 4));
}

TEST_P(MemoryAndStreams, PersistentScopesNest) {
  const auto persistent = [&] {
    for (const PoolReport& p : device().memory().pools) {
      if (p.kind.starts_with("persistent")) return p.live;
    }
    return std::uint64_t{0};
  };
  const std::uint64_t before = persistent();
  Buffer<u32> a, b, c;
  {
    const PersistentScope outer = device().persistent();
    a = device().full<u32>(10, 1);
    {
      const PersistentScope inner = device().persistent();
      b = device().full<u32>(10, 2);
    }
    c = device().full<u32>(10, 3);
  }
  const Buffer<u32> d = device().full<u32>(10, 4);
  EXPECT_EQ(persistent(), before + 3);
  EXPECT_EQ(read(a)[0] + read(b)[0] + read(c)[0] + read(d)[0], 10u);
}

TEST_P(MemoryAndStreams, ACapIsItsStreamsOwn) {
  const Stream stream = device().new_stream();
  stream.cap_memory(64 << 10);
  {
    const StreamScope scope(stream);
    const Buffer<u32> small = device().full<u32>(1000, 1);
    const Buffer<u32> large = device().full<u32>(20000, 1);
    EXPECT_EQ(read(small)[999], 1u);
    const Result<std::vector<u32>> refused = large.to_vector();
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().root().kind(), ErrorKind::OutOfMemory);
    EXPECT_NE(refused.error().root().message().find("65536"), std::string::npos);
  }
  EXPECT_EQ(read(device().full<u32>(20000, 2))[19999], 2u);
}

TEST_P(MemoryAndStreams, ScopesChooseTheStreamAndNest) {
  const std::uint64_t standard = device().stream().id();
  const Stream a = device().new_stream(), b = device().new_stream();
  {
    const StreamScope outer(a);
    EXPECT_EQ(device().stream().id(), a.id());
    {
      const StreamScope inner(b);
      EXPECT_EQ(device().stream().id(), b.id());
    }
    EXPECT_EQ(device().stream().id(), a.id());
    std::uint64_t elsewhere = ~std::uint64_t{0};
    std::thread([&] { elsewhere = device().stream().id(); }).join();
    EXPECT_EQ(elsewhere, standard);
    EXPECT_EQ(read(device().full<u32>(3, 8)), std::vector<u32>(3, 8));
  }
  EXPECT_EQ(device().stream().id(), standard);
  EXPECT_FALSE(device().stream_ids().empty());
}

TEST_P(MemoryAndStreams, SeveralBuffersInOneRead) {
  const Buffer<u32> a = device().full<u32>(3, 1);
  const Buffer<f32> none = device().alloc<f32>(0);
  const Buffer<f32> b = device().full<f32>(5, 2.5f);
  Result<std::tuple<std::vector<u32>, std::vector<f32>, std::vector<f32>>> got =
      download(a, none, b).get();
  ASSERT_TRUE(got.has_value()) << got.error().full();
  EXPECT_EQ(std::get<0>(*got), std::vector<u32>(3, 1));
  EXPECT_TRUE(std::get<1>(*got).empty());
  EXPECT_EQ(std::get<2>(*got), std::vector<f32>(5, 2.5f));

  b.write(std::vector<f32>(6, 0.0f));  // refused
  Result<std::tuple<std::vector<u32>, std::vector<f32>>> failed = download(a, b).get();
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().root().kind(), ErrorKind::InvalidArgument);
}

TEST_P(MemoryAndStreams, AHundredBuffersInOneRead) {
  std::vector<Buffer<u32>> buffers;
  std::vector<const detail::BufferRef*> refs;
  for (u32 i = 0; i < 100; ++i) buffers.push_back(device().full<u32>(4, i));
  for (const Buffer<u32>& b : buffers) refs.push_back(&b.ref());
  const detail::PendingPtr pending = detail::download(refs, nullptr, SourceLoc::current());
  std::vector<std::vector<u32>> values(100, std::vector<u32>(4, 0xdeadbeefu));
  std::vector<std::span<std::byte>> bytes;
  for (std::vector<u32>& v : values) bytes.push_back(std::as_writable_bytes(std::span<u32>(v)));
  const Status taken = detail::pending_take(*pending, bytes);
  ASSERT_TRUE(taken.has_value()) << taken.error().full();
  for (u32 i = 0; i < 100; ++i) EXPECT_EQ(values[i], std::vector<u32>(4, i));
}

TEST_P(MemoryAndStreams, SyncOfABufferIsAboutItsBytes) {
  const Stream other = device().new_stream();
  const Buffer<u32> good = device().full<u32>(64, 1), bad = device().full<u32>(64, 1);
  good.fill(other, 2);
  bad.write(other, std::vector<u32>(65, 1));
  EXPECT_TRUE(good.sync().has_value());
  const Status failed = bad.sync();
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().root().kind(), ErrorKind::InvalidArgument);
  EXPECT_EQ(read(good), std::vector<u32>(64, 2));
}

TESSERA_ON_DEVICES(MemoryAndStreams);

}  // namespace
}  // namespace tessera::conformance
