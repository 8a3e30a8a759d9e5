// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/bytes.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace tessera::base {
namespace {

TEST(Bytes, AVectorMovesInWithoutACopy) {
  std::vector<std::uint32_t> values{1, 2, 3};
  const void* where = values.data();
  const Bytes bytes(std::move(values));
  EXPECT_EQ(bytes.size(), 12u);
  EXPECT_EQ(bytes.span().data(), where);
}

TEST(Bytes, TheOwnerLivesAsLongAsTheBytes) {
  auto owner = std::make_shared<std::vector<std::byte>>(5);
  const std::weak_ptr<std::vector<std::byte>> watched = owner;
  const std::span<const std::byte> range(*owner);
  Bytes first(range, std::move(owner));
  Bytes second(std::move(first));
  EXPECT_EQ(first.size(), 0u);  // NOLINT: moved from means empty
  EXPECT_FALSE(watched.expired());
  second = Bytes();
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace tessera::base
