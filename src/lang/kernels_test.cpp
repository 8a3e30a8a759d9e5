// SPDX-License-Identifier: MIT OR Apache-2.0
// Whole kernels of the kinds that people write, against the host's own arithmetic.
#include <cmath>
#include <numeric>

#include "lang/test_trace.hpp"
#include "tessera/lang/dollar.hpp"

namespace tessera::lang::testing {
namespace {

// ---- saxpy and gelu: vector elements, helper functions, host constants ----------------------

template <class T, int N>
void saxpy(In<Vec<T, N>> x, InOut<Vec<T, N>> y, Scalar<T> a) {
  auto i = ex(absolute_pos);
  $if(i < y.len()) {
    y[i] = a * x[i] + y[i];
  }
}

TEST(Kernels, Saxpy) {
  const auto kernel = traced(&saxpy<float, 4>, {4, 1, 1});
  ASSERT_TRUE(kernel) << kernel.error().message();
  std::vector<float> x(28), y(28);
  std::iota(x.begin(), x.end(), 1.f);
  std::iota(y.begin(), y.end(), 100.f);
  Host host;
  using V = Vec<float, 4>;
  std::vector<V> xv(7), yv(7);
  std::memcpy(xv.data(), x.data(), 28 * 4);
  std::memcpy(yv.data(), y.data(), 28 * 4);
  host.in(xv).in(yv).scalar(2.f);
  const auto outcome = host.run(*kernel, {2, 1, 1});
  EXPECT_FALSE(outcome.fault);
  const auto got = host.get<float>(1);
  for (std::size_t i = 0; i < 28; ++i) EXPECT_EQ(got[i], 2.f * x[i] + y[i]) << i;
  ASSERT_EQ(outcome.observed.size(), 2u);
  EXPECT_EQ(outcome.observed[0], detail::Access::in);
  EXPECT_EQ(outcome.observed[1], detail::Access::inout);
}

template <class T>
Expr<T> gelu(Expr<T> x) {
  const double c = std::sqrt(2.0 / 3.14159265358979323846);  // folded by the host compiler
  return x * (tanh((x + x * x * x * 0.044715) * c) + 1) / 2;
}
template <class T, int N>
void gelu_kernel(In<Vec<T, N>> x, Out<Vec<T, N>> y) {
  $if(absolute_pos < x.len()) {
    y[absolute_pos] = gelu(x[absolute_pos]);
  }
}

TEST(Kernels, Gelu) {
  const auto kernel = traced(&gelu_kernel<float, 2>, {8, 1, 1});
  ASSERT_TRUE(kernel) << kernel.error().message();
  std::vector<Vec<float, 2>> x{{{-2.f, -1.f}}, {{-0.5f, 0.f}}, {{0.25f, 1.f}}, {{3.f, 10.f}}};
  Host host;
  host.in(x).out<Vec<float, 2>>(4);
  EXPECT_FALSE(host.run(*kernel, {1, 1, 1}).fault);
  const auto got = host.get<float>(1);
  const float in[] = {-2.f, -1.f, -0.5f, 0.f, 0.25f, 1.f, 3.f, 10.f};
  for (int i = 0; i < 8; ++i) {
    const double v = in[i];
    const double want =
        v * (std::tanh((v + v * v * v * 0.044715) * std::sqrt(2.0 / 3.14159265358979323846)) + 1) /
        2;
    EXPECT_NEAR(got[static_cast<std::size_t>(i)], want, 1e-6 * (1 + std::abs(want))) << in[i];
  }
}

// ---- tiled matmul: comptime tile, shared memory, an unrolled host loop in a device loop -----

struct Tile {
  std::uint32_t m = 4, n = 4, k = 4;
};
template <class T>
void matmul(In<T> a, In<T> b, Out<T> c, Scalar<u32> M, Scalar<u32> N, Scalar<u32> K, Tile tile) {
  Shared<T> ta(tile.m, tile.k), tb(tile.k, tile.n);
  auto tx = ex(unit_pos.x), ty = ex(unit_pos.y);
  auto row = cube_pos.y * tile.m + ty;
  auto col = cube_pos.x * tile.n + tx;
  Var<T> acc = 0;
  for (auto k0 : range(Expr<Index>(0), K, tile.k)) {
    // Masked loads: a column past the edge would name the next row, so the mask is an index.
    const auto outside_a = ex(a.len()), outside_b = ex(b.len());
    ta(ty, tx) = a.load_or(select(k0 + tx < K, row * K + k0 + tx, outside_a), 0);
    tb(ty, tx) = b.load_or(select(col < N, (k0 + ty) * N + col, outside_b), 0);
    sync_cube();
    for (std::uint32_t k = 0; k < tile.k; ++k) acc = fma(ta(ty, k), tb(k, tx), acc);
    sync_cube();
  }
  $if(row < M && col < N) {
    c[row * N + col] = acc;
  }
}

TEST(Kernels, MatmulWithRaggedEdges) {
  for (const auto& [m, n, k] :
       {std::array<std::uint32_t, 3>{1, 1, 1}, {4, 4, 4}, {5, 7, 9}, {13, 6, 11}, {64, 64, 64}}) {
    Tile tile;
    const auto kernel = traced(&matmul<float>, {tile.n, tile.m, 1}, {{}, {}, {}, {}, {}, {}, tile});
    ASSERT_TRUE(kernel) << kernel.error().message();
    std::vector<float> a(m * k), b(k * n);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 2;
    Host host;
    host.in(a).in(b).out<float>(m * n).scalar(m).scalar(n).scalar(k);
    // A plain store to shared memory still loads before the passes drop it.
    const auto outcome = host.run(*kernel, {(n + 3) / 4, (m + 3) / 4, 1}, false);
    EXPECT_FALSE(outcome.fault);
    const auto got = host.get<float>(2);
    for (std::uint32_t r = 0; r < m; ++r) {
      for (std::uint32_t col = 0; col < n; ++col) {
        float want = 0;
        for (std::uint32_t i = 0; i < k; ++i) want += a[r * k + i] * b[i * n + col];
        ASSERT_EQ(got[r * n + col], want) << r << ' ' << col << " of " << m << 'x' << n << 'x' << k;
      }
    }
    EXPECT_EQ(outcome.observed[2], detail::Access::out);
  }
}

// ---- reduction: a policy type, a shared-memory tree of comptime depth ----------------------

struct Sum {
  template <class T>
  static Expr<T> combine(Expr<T> a, Expr<T> b) {
    return a + b;
  }
  static constexpr int identity = 0;
};
struct Max {
  template <class T>
  static Expr<T> combine(Expr<T> a, Expr<T> b) {
    return max(a, b);
  }
  static constexpr int identity = -1000000;
};
template <class T, class Op>
Expr<T> cube_reduce(Expr<T> mine, std::uint32_t units) {
  Shared<T> scratch(units);
  scratch[unit_pos] = mine;
  for (std::uint32_t stride = units / 2; stride > 0; stride /= 2) {
    sync_cube();
    $if(unit_pos < stride) {
      scratch[unit_pos] =
          Op::template combine<T>(ex(scratch[unit_pos]), ex(scratch[unit_pos + stride]));
    }
  }
  sync_cube();
  return ex(scratch[0]);
}
template <class T, class Op>
void reduce(In<T> x, Out<T> partials, Const<std::uint32_t> units) {
  Var<T> acc = Op::identity;
  auto stride = cube_count * units;
  Var<Index> i = cube_pos * units + unit_pos;
  $while(i < x.len()) {
    acc = Op::template combine<T>(ex(acc), x[i]);
    i += stride;
  }
  auto total = cube_reduce<T, Op>(ex(acc), units);
  $if(unit_pos == 0) {
    partials[cube_pos] = total;
  }
}

template <class Op>
void expect_reduction(int count, int (*host_combine)(int, int)) {
  const auto kernel = traced(&reduce<i32, Op>, {16, 1, 1}, {{}, {}, 16u});
  ASSERT_TRUE(kernel) << kernel.error().message();
  std::vector<i32> x(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<i32>(i * 37 % 101) - 50;
  Host host;
  host.in(x).out<i32>(3);
  EXPECT_FALSE(host.run(*kernel, {3, 1, 1}, false).fault);
  int want = Op::identity, got = Op::identity;
  for (const i32 v : x) want = host_combine(want, v);
  for (const i32 v : host.get<i32>(1)) got = host_combine(got, v);
  EXPECT_EQ(got, want) << count;
}

TEST(Kernels, ReduceByPolicy) {
  for (const int count : {0, 1, 15, 16, 17, 1000}) {
    expect_reduction<Sum>(count, [](int a, int b) { return a + b; });
    expect_reduction<Max>(count, [](int a, int b) { return a > b ? a : b; });
  }
}

// ---- histogram: shared and global atomics, strided loops -----------------------------------

void histogram(In<u32> keys, InOut<Atomic<u32>> bins, Const<std::uint32_t> nbins) {
  Shared<Atomic<u32>> local(nbins);
  for (auto b : range(unit_pos, nbins, cube_dim)) local[b].store(0);
  sync_cube();
  for (auto i : range(absolute_pos, keys.len(), cube_count * cube_dim)) {
    auto key = keys[i];
    $if(key < nbins) {
      local[key].fetch_add(1);
    }
  }
  sync_cube();
  for (auto b : range(unit_pos, nbins, cube_dim)) {
    auto n = local[b].load();
    $if(n != 0) {
      bins[b].fetch_add(n);
    }
  }
}

TEST(Kernels, Histogram) {
  const auto kernel = traced(&histogram, {8, 1, 1}, {{}, {}, 11u});
  ASSERT_TRUE(kernel) << kernel.error().message();
  std::vector<u32> keys(1003), want(11, 5);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<u32>(i * i % 13);
  for (const u32 k : keys) {
    if (k < 11) ++want[k];
  }
  Host host;
  host.in(keys).in(std::vector<u32>(11, 5));
  EXPECT_FALSE(host.run(*kernel, {3, 1, 1}).fault);
  EXPECT_EQ(host.get<u32>(1), want);
}

// ---- elementwise: a comptime struct steers the code; a dead buffer stays untouched ---------

enum class Act { none, relu, silu };
struct Epilogue {
  Act act = Act::none;
  bool bias = false;
  float scale = 1.f;
};
template <class T, int N>
void elementwise(In<Vec<T, N>> x, In<Vec<T, N>> bias, Out<Vec<T, N>> y, Epilogue e) {
  $if(absolute_pos < x.len()) {
    Var<Vec<T, N>> v = x[absolute_pos];
    if (e.scale != 1.f) v *= e.scale;
    if (e.bias) v += bias[absolute_pos % bias.len()];
    switch (e.act) {
      case Act::none:
        break;
      case Act::relu:
        for (int l = 0; l < N; ++l) v.set_lane(l, max(v.lane(l), 0));
        break;
      case Act::silu:
        for (int l = 0; l < N; ++l) {
          auto s = v.lane(l);
          v.set_lane(l, s / (exp(-s) + 1));
        }
        break;
    }
    y[absolute_pos] = v;
  }
}

TEST(Kernels, ElementwiseByComptimeStruct) {
  const std::vector<Vec<float, 2>> x{{{-1.f, 2.f}}, {{3.f, -4.f}}, {{0.f, 0.5f}}};
  const std::vector<Vec<float, 2>> bias{{{1.f, 10.f}}, {{100.f, 1000.f}}};
  for (const Epilogue e : {Epilogue{}, Epilogue{Act::relu, false, 2.f}, Epilogue{Act::none, true},
                           Epilogue{Act::silu, true, 0.5f}}) {
    const auto kernel = traced(&elementwise<float, 2>, {8, 1, 1}, {{}, {}, {}, e});
    ASSERT_TRUE(kernel) << kernel.error().message();
    Host host;
    host.in(x).in(bias).out<Vec<float, 2>>(3);
    const auto outcome = host.run(*kernel, {1, 1, 1});
    EXPECT_FALSE(outcome.fault);
    const auto got = host.get<float>(2);
    for (std::size_t i = 0; i < 6; ++i) {
      float want = x[i / 2].lanes[i % 2] * e.scale;
      if (e.bias) want += bias[i / 2 % 2].lanes[i % 2];
      if (e.act == Act::relu) want = want > 0 ? want : 0;
      if (e.act == Act::silu) want = want / (std::exp(-want) + 1);
      EXPECT_NEAR(got[i], want, 1e-5f * (1 + std::abs(want))) << i;
    }
    EXPECT_EQ(outcome.observed[1], e.bias ? detail::Access::in : detail::Access::none);
  }
}

TEST(Kernels, LambdaIsAKernel) {
  Host host;
  host.in(std::vector<float>{1, 2, 3}).out<float>(3);
  run_one(
      [](In<float> p, Out<float> q) {
        $if(absolute_pos < p.len()) {
          q[absolute_pos] = p[absolute_pos] * 2;
        }
      },
      host, 8);
  EXPECT_EQ(host.get<float>(1), (std::vector<float>{2, 4, 6}));
}

}  // namespace
}  // namespace tessera::lang::testing
