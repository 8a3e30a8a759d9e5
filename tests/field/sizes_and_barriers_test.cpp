// SPDX-License-Identifier: MIT OR Apache-2.0
// What users of such software met at the edges of sizes, and with barriers.
#include "conformance/on_device.hpp"

namespace tessera::conformance {
namespace {

class Edges : public OnDevice {};
TESSERA_ON_DEVICES(Edges);

void fill_ones(Out<f32> x) {
  $if(absolute_pos < x.len()) {
    x[absolute_pos] = 1;
  }
}
void write_any(Out<u32> x) {
  x[0] = 1u;
}

TEST_P(Edges, Entry17NothingToDoIsNothingDone) {
  for (const Shape& shape : {Shape{0}, Shape{0, 0}, Shape{3, 0, 5}}) {
    const auto t = device().tensor<f32>(shape);
    EXPECT_TRUE(launch<fill_ones>(device(), Grid::over(shape.count()), t.buffer()).status());
    EXPECT_TRUE(read(t.buffer()).empty());
  }
  const auto kept = poisoned(1);
  launch<write_any>(device(), Grid({0, 1, 1}, {1, 1, 1}), kept);
  EXPECT_EQ(read(kept)[0], 0xdeadbeefu);
  launch<write_any>(device(), DynamicGrid{device().zeros<u32>(3), {1, 1, 1}, {4, 4, 4}}, kept);
  EXPECT_EQ(read(kept)[0], 0xdeadbeefu);
  // Whatever comes after is not concerned.
  const auto a = up(std::vector<f32>{1, 2, 3, 4});
  EXPECT_EQ(read(map(
                device(), [](Expr<f32> x, Expr<f32> y) { return x + y; }, a, a)),
            (std::vector<f32>{2, 4, 6, 8}));
}

void number(Out<u32> x) {
  $if(absolute_pos < x.len()) {
    x[absolute_pos] = cast<u32>(absolute_pos % 251);
  }
}

TEST_P(Edges, Entry19MoreThan65535Cubes) {
  for (const u32 cubes : {65535u, 65536u, 65537u}) {
    const auto all = poisoned(cubes + 64);
    launch<number>(device(), Grid({cubes, 1, 1}, {1, 1, 1}), all.slice(0, cubes));
    const auto got = read(all);
    for (u32 i = 0; i < cubes; ++i) ASSERT_EQ(got[i], i % 251) << i << " of " << cubes;
    for (u32 i = cubes; i < cubes + 64; ++i) ASSERT_EQ(got[i], 0xdeadbeefu);
  }
}

void number_grid(Out<u32> x, Out<u32> seen) {
  const auto at = cube_pos.x + cube_count.x * (cube_pos.y + cube_count.y * cube_pos.z);
  $if(at < x.len()) {
    x[at] = cast<u32>(absolute_pos);
    seen[at] = cast<u32>(cube_count.x + cube_count.y + cube_count.z);
  }
}

TEST_P(Edges, Entry19TallGridsAreFolded) {
  for (const Dim3 grid : {Dim3{1, 65536, 1}, Dim3{1, 1, 65536}, Dim3{3, 65537, 1}}) {
    const u32 n = grid.x * grid.y * grid.z;
    const auto x = poisoned(n), seen = poisoned(n);
    launch<number_grid>(device(), Grid(grid, {1, 1, 1}), x, seen);
    const auto got = read(x), counts = read(seen);
    for (u32 i = 0; i < n; ++i) {
      ASSERT_EQ(got[i], i);
      ASSERT_EQ(counts[i], grid.x + grid.y + grid.z);
    }
  }
}

template <class F, class... A>
Error refused(const Device& device, F kernel, const A&... arguments) {
  const Launched launched = launch(device, Grid({1, 1, 1}, {256, 1, 1}), kernel, arguments...);
  EXPECT_FALSE(launched.status());
  return launched.status() ? Error(ErrorKind::Io, "accepted") : launched.status().error();
}

TEST_P(Edges, Entry25BarriersThatNotEveryUnitReaches) {
  const auto items = device().full<u32>(256, 3u);
  const auto bins = device().zeros<u32>(64);
  const Error branch = refused(
      device(),
      [](In<u32> x, Out<u32> y) {
        $if(unit_pos < 64) {
          y[unit_pos] = x[unit_pos];
          sync_cube();
        }
      },
      items, bins);
  EXPECT_EQ(branch.kind(), ErrorKind::CompileFailed);
  for (const char* part : {"sync_cube", "sizes_and_barriers_test.cpp", "lt"}) {
    EXPECT_NE(branch.message().find(part), std::string::npos) << branch.message();
  }
  EXPECT_EQ(refused(
                device(),
                [](In<u32> x, Out<u32> y) {
                  for ([[maybe_unused]] auto i : range(x[unit_pos])) {
                    sync_cube();
                  }
                  y[0] = 1u;
                },
                items, bins)
                .kind(),
            ErrorKind::CompileFailed);
  EXPECT_EQ(refused(
                device(),
                [](In<u32> x, Out<u32> y) {
                  $if(unit_pos > 100) {
                    $return;
                  }
                  sync_cube();
                  y[unit_pos % 64] = x[unit_pos];
                },
                items, bins)
                .kind(),
            ErrorKind::CompileFailed);
}

void legal(In<u32> x, Out<u32> y, Scalar<u32> on) {
  Shared<u32> s(256);
  s[unit_pos] = x.load_or(unit_pos, 0u);
  $if(on == 1) {
    sync_cube();
  }
  y[unit_pos] = s[unit_pos];
}

void histogram(In<u32> items, InOut<Atomic<u32>> bins) {
  Shared<Atomic<u32>> local(64);
  $if(unit_pos < 64) {
    local[unit_pos].store(0);
  }
  sync_cube();
  local[items[unit_pos] % 64].fetch_add(1);
  sync_cube();
  $if(unit_pos < 64) {
    bins[unit_pos].fetch_add(local[unit_pos].load());
  }
}

TEST_P(Edges, Entry25LegalBarriersRun) {
  std::vector<u32> items(256);
  for (u32 i = 0; i < 256; ++i) items[i] = i * 7;
  const auto out = poisoned(256);
  EXPECT_TRUE(launch<legal>(device(), Grid({1, 1, 1}, {256, 1, 1}), up(items), out, 1u).status());
  EXPECT_EQ(read(out), items);
  const auto bins = device().zeros<u32>(64);
  launch<histogram>(device(), Grid({1, 1, 1}, {256, 1, 1}), up(items), bins);
  u32 sum = 0;
  for (const u32 b : read(bins)) sum += b;
  EXPECT_EQ(sum, 256u);
}

}  // namespace
}  // namespace tessera::conformance
