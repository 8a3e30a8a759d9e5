// SPDX-License-Identifier: MIT OR Apache-2.0
// Kernels of the language give the results that the language promises.
#include <numeric>

#include "conformance/on_device.hpp"

namespace tessera::conformance {
namespace {

class Kernels : public OnDevice {};
TESSERA_ON_DEVICES(Kernels);

void positions(Out<u32> linear, Out<u32> x, Out<u32> y, Out<u32> z, Scalar<u32> width,
               Scalar<u32> height) {
  const Expr<Index> at = absolute_pos.x + width * (absolute_pos.y + height * absolute_pos.z);
  linear[at] = cast<u32>(absolute_pos);
  x[at] = cast<u32>(absolute_pos.x);
  y[at] = cast<u32>(cube_pos.y * cube_dim.y + unit_pos.y);
  z[at] = cast<u32>(absolute_pos.z);
}

TEST_P(Kernels, AbsolutePositionsCountTheGrid) {
  constexpr u32 w = 6, h = 10, d = 7;
  const auto linear = poisoned(w * h * d), x = poisoned(w * h * d), y = poisoned(w * h * d),
             z = poisoned(w * h * d);
  launch<positions>(device(), Grid({3, 5, 7}, {2, 2, 1}), linear, x, y, z, w, h);
  const auto l = read(linear), xs = read(x), ys = read(y), zs = read(z);
  for (u32 i = 0; i < w * h * d; ++i) {
    ASSERT_EQ(l[i], i);
    ASSERT_EQ(xs[i], i % w);
    ASSERT_EQ(ys[i], i / w % h);
    ASSERT_EQ(zs[i], i / (w * h));
  }
}

void saxpy4(In<Vec<f32, 4>> x, InOut<Vec<f32, 4>> y, Scalar<f32> a) {
  $if(absolute_pos < y.len()) {
    y[absolute_pos] = a * x[absolute_pos] + y[absolute_pos];
  }
}

TEST_P(Kernels, VectorsOfFour) {
  std::vector<f32> x(1000), y(1000);
  std::iota(x.begin(), x.end(), 0.0f);
  std::iota(y.begin(), y.end(), 5.0f);
  const auto bx = up(x), by = up(y);
  launch<saxpy4>(device(), Grid::over(250), bx, by, 3.0f);
  const auto out = read(by);
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(out[i], 3.0f * x[i] + y[i]);
}

void matmul(TensorIn<f32> a, TensorIn<f32> b, TensorOut<f32> c, Const<u32> tile) {
  Shared<f32> ta(tile, tile), tb(tile, tile);
  const auto tx = ex(unit_pos.x), ty = ex(unit_pos.y);
  const auto row = cube_pos.y * tile + ty, column = cube_pos.x * tile + tx;
  Var<f32> sum = 0;
  for (auto k0 : range(0, a.shape(1), tile)) {
    ta(ty, tx) = a.load_or(row, k0 + tx, 0);
    tb(ty, tx) = b.load_or(k0 + ty, column, 0);
    sync_cube();
    for (u32 k = 0; k < tile; ++k) sum = sum + ta(ty, k) * tb(k, tx);
    sync_cube();
  }
  $if(row < c.shape(0) && column < c.shape(1)) {
    c(row, column) = sum;
  }
}

TEST_P(Kernels, TiledMatmulOfOddSizes) {
  constexpr u32 m = 37, n = 45, k = 29;
  std::vector<f32> a(m * k), b(k * n);
  for (u32 i = 0; i < a.size(); ++i) a[i] = static_cast<f32>(i % 7) - 3;
  for (u32 i = 0; i < b.size(); ++i) b[i] = static_cast<f32>(i % 5) - 2;
  const auto ta = device().tensor<f32>(Shape{m, k}, std::span<const f32>(a));
  const auto tb = device().tensor<f32>(Shape{k, n}, std::span<const f32>(b));
  const Tensor<f32> c(poisoned_f32(m * n), Shape{m, n});
  launch<matmul>(device(), Grid({6, 5, 1}, {8, 8, 1}), ta, tb, c, 8u);
  const auto out = read(c.buffer());
  for (u32 r = 0; r < m; ++r) {
    for (u32 s = 0; s < n; ++s) {
      f32 want = 0;
      for (u32 i = 0; i < k; ++i) want += a[r * k + i] * b[i * n + s];
      ASSERT_EQ(out[r * n + s], want) << r << "," << s;  // small whole numbers: exact
    }
  }
}

void copy_view(TensorIn<u32> from, TensorOut<u32> to) {
  $if(absolute_pos.y < to.shape(0) && absolute_pos.x < to.shape(1)) {
    to(absolute_pos.y, absolute_pos.x) = from(absolute_pos.y, absolute_pos.x);
  }
}

TEST_P(Kernels, TransposedViewsUseTheirStrides) {
  std::vector<u32> values(5 * 9);
  std::iota(values.begin(), values.end(), 0u);
  const auto t = device().tensor<u32>(Shape{5, 9}, std::span<const u32>(values));
  const Tensor<u32> out(poisoned(45), Shape{9, 5});
  launch<copy_view>(device(), Grid({1, 2, 1}, {8, 8, 1}), t.transpose(0, 1), out);
  const auto got = read(out.buffer());
  for (u32 r = 0; r < 9; ++r) {
    for (u32 c = 0; c < 5; ++c) ASSERT_EQ(got[r * 5 + c], c * 9 + r);
  }
}

void flow(Out<u32> out) {
  const Expr<u32> i = cast<u32>(absolute_pos);
  $if(absolute_pos >= out.len()) {
    $return;
  }
  Var<u32> v = 0u;
  $if(i % 4 == 0) {
    v = 100u;
  }
  $elif(i % 4 == 1) {
    v = 200u;
  }
  $elif(i % 4 == 2) {
    v = 300u;
  }
  $else {
    v = 400u;
  }
  for (auto k : range(Expr<u32>(3u), i, 5u)) {
    $if(k > 40) {
      $break;
    }
    v += k;
  }
  Var<u32> n = i;
  $while(n != 1 && n != 0) {
    $if(n % 2 == 0) {
      n = n / 2;
    }
    $else {
      n = n * 3 + 1;
    }
    v += 1;
  }
  out[absolute_pos] = v;
}

u32 flow_on_host(u32 i) {
  u32 v = i % 4 == 0 ? 100 : i % 4 == 1 ? 200 : i % 4 == 2 ? 300 : 400;
  for (u32 k = 3; k < i; k += 5) {
    if (k > 40) break;
    v += k;
  }
  for (u32 n = i; n != 1 && n != 0; ++v) n = n % 2 == 0 ? n / 2 : n * 3 + 1;
  return v;
}

TEST_P(Kernels, ControlFlow) {
  const auto out = poisoned(300);
  launch<flow>(device(), Grid::over(300, 64), out);
  const auto got = read(out);
  for (u32 i = 0; i < 300; ++i) ASSERT_EQ(got[i], flow_on_host(i)) << i;
}

void count_down(Out<i32> out) {
  Var<i32> v = 0;
  for (auto i : range(Expr<i32>(10), -10, -3)) v = v * 2 + i;
  for (auto i : range(Expr<i32>(2147483640), 2147483647, 4)) v += i % 10;  // must not wrap
  out[absolute_pos] = v;
}

TEST_P(Kernels, LoopsCountDownAndEndBeforeTheyWrap) {
  const auto out = poisoned_i32(1);
  launch<count_down>(device(), Grid({1, 1, 1}, {1, 1, 1}), out);
  i32 want = 0;
  for (i32 i = 10; i > -10; i -= 3) want = want * 2 + i;
  want += 2147483640 % 10 + 2147483644 % 10;
  EXPECT_EQ(read(out)[0], want);
}

void histogram(In<u32> keys, InOut<Atomic<u32>> bins, Const<u32> count) {
  Shared<Atomic<u32>> local(count);
  for (auto b : range(unit_pos, count, cube_dim)) local[b].store(0);
  sync_cube();
  for (auto i : range(absolute_pos, keys.len(), cube_count * cube_dim)) {
    const auto key = keys[i];
    $if(key < static_cast<u32>(count)) {
      local[key].fetch_add(1);
    }
  }
  sync_cube();
  for (auto b : range(unit_pos, count, cube_dim)) {
    bins[b].fetch_add(local[b].load());
  }
}

TEST_P(Kernels, HistogramWithSharedAtomics) {
  std::vector<u32> keys(5000), want(50, 0);
  for (u32 i = 0; i < keys.size(); ++i) {
    keys[i] = i * i % 61;
    if (keys[i] < 50) ++want[keys[i]];
  }
  const auto bins = device().zeros<u32>(50);
  launch<histogram>(device(), Grid({4, 1, 1}, {64, 1, 1}), up(keys), bins, 50u);
  EXPECT_EQ(read(bins), want);
}

void atomics(InOut<Atomic<u32>> a, Out<u32> old) {
  old[0] = a[0].exchange(7);
  old[1] = a[1].fetch_add(5);
  old[2] = a[2].fetch_sub(5);
  old[3] = a[3].fetch_min(5);
  old[4] = a[4].fetch_max(50);
  old[5] = a[5].fetch_and(10);
  old[6] = a[6].fetch_or(3);
  old[7] = a[7].fetch_xor(6);
  old[8] = a[8].compare_exchange(12, 99);
  old[9] = a[9].compare_exchange(13, 99);
  a[10].store(a[11].load() + 1);
}

TEST_P(Kernels, EveryAtomicGivesTheOldValue) {
  const auto a = device().full<u32>(12, 12u);
  const auto old = poisoned(10);
  launch<atomics>(device(), Grid({1, 1, 1}, {1, 1, 1}), a, old);
  EXPECT_EQ(read(old), std::vector<u32>(10, 12u));
  EXPECT_EQ(read(a), (std::vector<u32>{7, 17, 7, 5, 50, 8, 15, 10, 99, 12, 13, 12}));
}

void in_place(In<u32> x, Out<u32> y) {
  $if(absolute_pos < x.len()) {
    y[absolute_pos] = x[absolute_pos] * 2 + 1;
  }
}

TEST_P(Kernels, AliasWorksInPlaceAndOverlapIsRefused) {
  std::vector<u32> values(100);
  std::iota(values.begin(), values.end(), 0u);
  const auto x = up(values);
  EXPECT_TRUE(launch<in_place>(device(), Grid::over(100), x, alias(x)).status());
  const auto out = read(x);
  for (u32 i = 0; i < 100; ++i) ASSERT_EQ(out[i], 2 * i + 1);

  const auto z = up(values);
  const Launched refused = launch<in_place>(device(), Grid::over(100), z, z);
  ASSERT_FALSE(refused.status());
  EXPECT_EQ(refused.status().error().kind(), ErrorKind::InvalidArgument);
  const auto failed = z.to_vector();
  ASSERT_FALSE(failed);  // a refused argument taints what should have been written
  EXPECT_EQ(failed.error().root().kind(), ErrorKind::InvalidArgument);
}

void add(In<u32> a, In<u32> b, Out<u32> c) {
  $if(absolute_pos < c.len()) {
    c[absolute_pos] = a[absolute_pos] + b[absolute_pos];
  }
}

TEST_P(Kernels, OneBufferMayBeReadTwice) {
  const auto a = up(std::vector<u32>{1, 2, 3, 4});
  const auto c = poisoned(4);
  launch<add>(device(), Grid::over(4), a, a, c);
  EXPECT_EQ(read(c), (std::vector<u32>{2, 4, 6, 8}));
}

TEST_P(Kernels, OverlappingRangesMayBeRead) {
  const u32 step = device().properties().alignment / 4;
  std::vector<u32> values(3 * step);
  std::iota(values.begin(), values.end(), 0u);
  const auto all = up(values);
  const auto c = poisoned(2 * step);
  launch<add>(device(), Grid::over(2 * step), all.slice(0, 2 * step), all.slice(step, 2 * step), c);
  const auto out = read(c);
  for (u32 i = 0; i < 2 * step; ++i) ASSERT_EQ(out[i], 2 * i + step);
}

TEST_P(Kernels, MapAndReduce) {
  std::vector<f32> x(777);
  std::vector<i32> n(777);
  for (int i = 0; i < 777; ++i) {
    x[static_cast<std::size_t>(i)] = static_cast<f32>(i % 10);
    n[static_cast<std::size_t>(i)] = (i * 37) % 501 - 250;
  }
  const auto doubled = map(device(), [](Expr<f32> a) { return a * 2 + 1; }, up(x));
  const auto got = read(doubled);
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(got[i], x[i] * 2 + 1);
  const auto b = up(n);
  EXPECT_EQ(read(reduce(device(), ops::sum, b))[0], std::accumulate(n.begin(), n.end(), 0));
  EXPECT_EQ(read(reduce(device(), ops::max, b))[0], *std::max_element(n.begin(), n.end()));
  EXPECT_EQ(read(reduce(device(), ops::min, b))[0], *std::min_element(n.begin(), n.end()));
  const auto none = device().alloc<f32>(0);
  EXPECT_EQ(read(reduce(device(), ops::sum, none))[0], 0.0f);
  EXPECT_EQ(reduce(device(), ops::max, none).to_vector().error().kind(),
            ErrorKind::InvalidArgument);
}

void dynamic_fill(Out<u32> out) {
  out[absolute_pos] = cast<u32>(cube_count.x) * 1000 + cast<u32>(absolute_pos);
}

TEST_P(Kernels, DynamicCubeCount) {
  const auto count = up(std::vector<u32>{3, 1, 1});
  const auto out = poisoned(40);
  EXPECT_TRUE(
      launch<dynamic_fill>(device(), DynamicGrid{count, {8, 1, 1}, {5, 1, 1}}, out).status());
  const auto got = read(out);
  for (u32 i = 0; i < 24; ++i) ASSERT_EQ(got[i], 3000 + i);
  for (u32 i = 24; i < 40; ++i) ASSERT_EQ(got[i], 0xdeadbeefu);

  const auto zero = up(std::vector<u32>{0, 1, 1});
  const auto untouched = poisoned(40);
  launch<dynamic_fill>(device(), DynamicGrid{zero, {8, 1, 1}, {5, 1, 1}}, untouched);
  EXPECT_EQ(read(untouched), std::vector<u32>(40, 0xdeadbeefu));

  const auto many = up(std::vector<u32>{6, 1, 1});
  const auto failed = poisoned(40);
  launch<dynamic_fill>(device(), DynamicGrid{many, {8, 1, 1}, {5, 1, 1}}, failed);
  const auto result = failed.to_vector();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().root().kind(), ErrorKind::KernelFault);
  EXPECT_NE(result.error().root().message().find("at_most"), std::string::npos);
}

}  // namespace
}  // namespace tessera::conformance
