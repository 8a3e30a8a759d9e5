// SPDX-License-Identifier: MIT OR Apache-2.0
// Tensors with padded rows: where the device copies rows, and what is said where it does not.
#include "conformance/on_device.hpp"

namespace tessera::conformance {
namespace {

class Pitched : public OnDevice {
 protected:
  bool supported() const { return !webgpu(); }
};

TEST(Strides, OfPaddedRows) {
  EXPECT_EQ(pitched({3, 5}, 4, 256), (Shape{8, 1}));      // 20 bytes in 32
  EXPECT_EQ(pitched({3, 4}, 4, 256), (Shape{4, 1}));      // 16 as they are
  EXPECT_EQ(pitched({3, 2}, 4, 256), (Shape{4, 1}));      // at least 16
  EXPECT_EQ(pitched({3, 100}, 4, 256), (Shape{128, 1}));  // 400 in 512
  EXPECT_EQ(pitched({3, 100}, 4, 64), (Shape{112, 1}));   // 400 in 448
  EXPECT_EQ(pitched({2, 3, 5}, 4, 256), (Shape{24, 8, 1}));
  EXPECT_EQ(pitched({7}, 4, 256), (Shape{1}));
  EXPECT_EQ(pitched({7, 1}, 4, 256), (Shape{1, 1}));  // rows of one element
  EXPECT_EQ(pitched({}, 4, 256), Shape());            // one element
  EXPECT_EQ(row_major({}), Shape());
}

TEST_P(Pitched, WhatIsWrittenIsReadBackWithoutThePadding) {
  std::vector<u32> values(7 * 5);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<u32>(i) + 1;
  const Tensor<u32> t = device().pitched_tensor<u32>({7, 5});
  EXPECT_EQ(t.strides(), (Shape{8, 1}));
  t.buffer().fill(0xdeadbeefu);
  t.write(values);
  const Result<std::vector<u32>> got = t.to_vector();
  if (!supported()) {
    ASSERT_FALSE(got.has_value());
    EXPECT_EQ(got.error().kind(), ErrorKind::Unsupported);
    return;
  }
  ASSERT_TRUE(got.has_value()) << got.error().full();
  EXPECT_EQ(*got, values);
  const std::vector<u32> raw = read(t.buffer());
  EXPECT_EQ(raw[4], 5u);
  EXPECT_EQ(raw[5], 0xdeadbeefu);  // padding is nobody's
  EXPECT_EQ(raw[8], 6u);
}

TEST_P(Pitched, TensorsOfThreeAxesAndOfNone) {
  std::vector<u32> values(2 * 3 * 5);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<u32>(i);
  const Tensor<u32> t = device().pitched_tensor<u32>({2, 3, 5});
  t.write(values);
  if (supported()) {
    EXPECT_EQ(t.to_vector().value(), values);
  }
  const Tensor<u32> scalar = device().pitched_tensor<u32>({});
  scalar.write(std::vector<u32>{42});
  EXPECT_EQ(scalar.to_vector().value(), std::vector<u32>{42});
  const Tensor<u32> line = device().pitched_tensor<u32>({5});
  line.write(std::vector<u32>{1, 2, 3, 4, 5});
  EXPECT_EQ(line.to_vector().value(), (std::vector<u32>{1, 2, 3, 4, 5}));
}

TEST_P(Pitched, WrongCountsAndStridesAreRefused) {
  const Tensor<u32> t = device().pitched_tensor<u32>({7, 5});
  t.write(std::vector<u32>(34, 1));
  EXPECT_FALSE(t.to_vector().has_value());
  const Tensor<u32> plain = device().tensor<u32>({4, 6}, std::vector<u32>(24, 1));
  const Result<std::vector<u32>> turned = plain.transpose(0, 1).to_vector();
  ASSERT_FALSE(turned.has_value());
  EXPECT_EQ(turned.error().kind(), ErrorKind::InvalidArgument);
}

TESSERA_ON_DEVICES(Pitched);

}  // namespace
}  // namespace tessera::conformance
