// SPDX-License-Identifier: MIT OR Apache-2.0
// The mosaic's kernels. See plan.hpp for what each step does and why nothing overflows.
#pragma once

#include "tessera/kernel.hpp"
#include "tessera/lang/dollar.hpp"
#include "tools/mosaic/plan.hpp"

namespace tessera::mosaic {

struct PhiloxBlock {
  Expr<u32> first, second;
};

/// Philox4x32-10, the first two words of the block (x, y, 0, 0). The rounds are unrolled while
/// tracing.
inline PhiloxBlock philox(const Expr<u32>& x, const Expr<u32>& y, u32 key) {
  Var<u32> c0 = x, c1 = y, c2 = 0u, c3 = 0u;
  u32 k0 = key, k1 = 0;
  for (int round = 0; round < 10; ++round) {
    const Expr<u32> a = ex(c0), b = ex(c2);
    const Expr<u32> h0 = mul_hi(a, 0xD2511F53u), l0 = a * 0xD2511F53u;
    const Expr<u32> h1 = mul_hi(b, 0xCD9E8D57u), l1 = b * 0xCD9E8D57u;
    const Expr<u32> n0 = h1 ^ c1 ^ k0, n2 = h0 ^ c3 ^ k1;
    c0 = n0;
    c1 = l1;
    c2 = n2;
    c3 = l0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {ex(c0), ex(c1)};
}

inline Expr<i32> luma(const Expr<u32>& p) {
  return cast<i32>((77u * (p & 255u) + 150u * ((p >> 8u) & 255u) + 29u * ((p >> 16u) & 255u)) >>
                   8u);
}

inline void edges(TensorIn<u32> picture, TensorOut<u32> edge) {
  const Expr<Index> r = ex(absolute_pos.y), c = ex(absolute_pos.x);
  $if(r < edge.shape(0) && c < edge.shape(1)) {
    const Expr<u32> here = picture.load_or(r, c, 0u);
    // Outside the picture the pixel itself stands in: r - 1 of row 0 is no row.
    const auto l = [&](int dr, int dc) {
      const Expr<Index> rr = dr < 0 ? r - 1 : r + dr, cc = dc < 0 ? c - 1 : c + dc;
      return luma(picture.load_or(rr, cc, here));
    };
    const Expr<i32> nw = l(-1, -1), n = l(-1, 0), ne = l(-1, 1), w = l(0, -1), e = l(0, 1),
                    sw = l(1, -1), s = l(1, 0), se = l(1, 1);
    const Expr<i32> gx = ne + 2 * e + se - nw - 2 * w - sw;
    const Expr<i32> gy = sw + 2 * s + se - nw - 2 * n - ne;
    edge(r, c) = cast<u32>(min((abs(gx) + abs(gy)) / 4, 255));
  }
}

inline void seeds(TensorIn<u32> edge, Out<u32> seed, Scalar<u32> columns, Scalar<u32> cell) {
  $if(absolute_pos < seed.len()) {
    const Expr<u32> n = cast<u32>(absolute_pos);
    const Expr<u32> left = n % columns * cell, top = n / columns * cell;
    const Expr<u32> wide = min(cell, cast<u32>(edge.shape(1)) - left);
    const Expr<u32> high = min(cell, cast<u32>(edge.shape(0)) - top);
    Var<u32> best = 0u, place = 0u;
    for (u32 k = 0; k < candidates; ++k) {
      const PhiloxBlock random = philox(n, Expr<u32>(k), key_seed);
      const Expr<u32> x = left + random.first % wide, y = top + random.second % high;
      const Expr<u32> score = edge(y, x) * 8u + (random.first >> 29u) + 1u;
      $if(score > best) {
        best = score;
        place = x | (y << 16u);
      }
    }
    seed[absolute_pos] = place;
  }
}

inline void place(In<u32> seed, InOut<Atomic<u32>> id, Scalar<u32> width) {
  $if(absolute_pos < seed.len()) {
    const Expr<u32> s = seed[absolute_pos];
    // Two stones can meet on one pixel; the lower number has it, in whatever order they come.
    id[(s >> 16u) * width + (s & 0xffffu)].fetch_min(cast<u32>(absolute_pos));
  }
}

inline Expr<u32> distance(const Expr<u32>& seed, const Expr<Index>& r, const Expr<Index>& c) {
  const Expr<i32> dx = cast<i32>(c) - cast<i32>(seed & 0xffffu);
  const Expr<i32> dy = cast<i32>(r) - cast<i32>(seed >> 16u);
  return cast<u32>(dx * dx + dy * dy);
}

/// `guarded` is what --break takes away: without it the kernel looks beyond the picture's border.
inline void jump(TensorIn<u32> id, TensorOut<u32> next, In<u32> seed, Scalar<u32> step,
                 Scalar<u32> columns, Scalar<u32> cell, Const<bool> guarded) {
  const Expr<Index> r = ex(absolute_pos.y), c = ex(absolute_pos.x);
  $if(r < next.shape(0) && c < next.shape(1)) {
    Var<u32> best = cast<u32>(r) / cell * columns + cast<u32>(c) / cell;
    Var<u32> least = distance(seed[best], r, c);
    for (int dr = -1; dr <= 1; ++dr) {
      for (int dc = -1; dc <= 1; ++dc) {
        const Expr<Index> rr = dr < 0 ? r - step : dr > 0 ? r + step : r;
        const Expr<Index> cc = dc < 0 ? c - step : dc > 0 ? c + step : c;
        const Expr<u32> other = guarded ? id.load_or(rr, cc, no_stone) : id(rr, cc);
        $if(other != no_stone) {
          const Expr<u32> d = distance(seed[other], r, c);
          $if(d < least || (d == least && other < best)) {
            least = d;
            best = other;
          }
        }
      }
    }
    next(r, c) = best;
  }
}

inline void gather(TensorIn<u32> id, TensorIn<u32> edge, In<u32> seed, InOut<Atomic<u32>> weight,
                   InOut<Atomic<i32>> dx, InOut<Atomic<i32>> dy) {
  const Expr<Index> r = ex(absolute_pos.y), c = ex(absolute_pos.x);
  $if(r < id.shape(0) && c < id.shape(1)) {
    const Expr<u32> n = id(r, c);
    const Expr<u32> w = 1u + edge(r, c) / 37u;
    const Expr<u32> s = seed[n];
    weight[n].fetch_add(w);
    dx[n].fetch_add((cast<i32>(c) - cast<i32>(s & 0xffffu)) * cast<i32>(w));
    dy[n].fetch_add((cast<i32>(r) - cast<i32>(s >> 16u)) * cast<i32>(w));
  }
}

inline void relax(InOut<u32> seed, In<u32> weight, In<i32> dx, In<i32> dy, Scalar<u32> columns,
                  Scalar<u32> cell, Scalar<u32> width, Scalar<u32> height) {
  $if(absolute_pos < seed.len()) {
    const Expr<u32> n = cast<u32>(absolute_pos);
    const Expr<i32> w = cast<i32>(weight[absolute_pos]);
    $if(w != 0) {
      const Expr<u32> s = ex(seed[absolute_pos]);
      const Expr<u32> left = n % columns * cell, top = n / columns * cell;
      const Expr<u32> right = min(left + cell, width) - 1u, bottom = min(top + cell, height) - 1u;
      const Expr<i32> x =
          clamp(cast<i32>(s & 0xffffu) + dx[absolute_pos] / w, cast<i32>(left), cast<i32>(right));
      const Expr<i32> y =
          clamp(cast<i32>(s >> 16u) + dy[absolute_pos] / w, cast<i32>(top), cast<i32>(bottom));
      seed[absolute_pos] = cast<u32>(x) | (cast<u32>(y) << 16u);
    }
  }
}

inline void colour(TensorIn<u32> picture, TensorIn<u32> id, InOut<Atomic<u32>> sum) {
  const Expr<Index> r = ex(absolute_pos.y), c = ex(absolute_pos.x);
  $if(r < id.shape(0) && c < id.shape(1)) {
    const Expr<u32> n = id(r, c) * 4u;
    const Expr<u32> pixel = picture.load_or(r, c, 0u);
    for (u32 channel = 0; channel < 3; ++channel) {
      sum[n + channel].fetch_add((pixel >> (8 * channel)) & 255u);
    }
    sum[n + 3u].fetch_add(1u);
  }
}

struct Relief {
  u32 grout = 1, bevel = 2;
};

inline void shade(TensorIn<u32> id, In<u32> seed, In<u32> sum, TensorOut<u32> out, Scalar<u32> cell,
                  Relief relief) {
  const Expr<Index> r = ex(absolute_pos.y), c = ex(absolute_pos.x);
  $if(r < out.shape(0) && c < out.shape(1)) {
    const Expr<u32> n = id.load_or(r, c, 0u);
    const auto other = [&](const Expr<Index>& rr, const Expr<Index>& cc) {
      return id.load_or(rr, cc, n) != n;
    };
    const auto border = [&](u32 d) {
      return std::pair(other(r - d, c) || other(r, c - d), other(r + d, c) || other(r, c + d));
    };
    const Expr<u32> grain = philox(cast<u32>(c), cast<u32>(r), key_tint).first;
    const auto [g_lit, g_dark] = border(relief.grout);
    $if(g_lit || g_dark) {
      const Expr<u32> g = 46u + (grain & 15u);
      out(r, c) = g | (g << 8u) | ((g + 4u) << 16u);
    }
    $else {
      const Expr<u32> s = seed[n];
      const auto [lit, dark] = border(relief.bevel);
      const Expr<u32> tint = philox(n, Expr<u32>(1u), key_tint).first;
      const Expr<i32> dx = cast<i32>(c) - cast<i32>(s & 0xffffu);
      const Expr<i32> dy = cast<i32>(r) - cast<i32>(s >> 16u);
      const Expr<i32> light = cast<i32>(tint & 31u) - 16 + cast<i32>(grain & 7u) - 4 +
                              select<i32>(lit, 34, 0) - select<i32>(dark, 34, 0) -
                              (dx + dy) * 12 / cast<i32>(cell);
      Var<u32> pixel = 0u;
      for (u32 channel = 0; channel < 3; ++channel) {
        const Expr<i32> mean = cast<i32>(sum[n * 4u + channel] / sum[n * 4u + 3u]);
        pixel |= cast<u32>(clamp(mean + light, 0, 255)) << (8 * channel);
      }
      out(r, c) = pixel;
    }
  }
}

}  // namespace tessera::mosaic
