// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tools/mosaic/control.hpp"

#include <array>
#include <cstdlib>

namespace tessera::mosaic {
namespace {

using std::int32_t;
using std::uint32_t;

uint32_t mul_hi(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>((std::uint64_t{a} * b) >> 32);
}

// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): first two
// words of the block (x, y, 0, 0).
std::array<uint32_t, 2> philox(uint32_t x, uint32_t y, uint32_t key) {
  uint32_t c0 = x, c1 = y, c2 = 0, c3 = 0, k0 = key, k1 = 0;
  for (int round = 0; round < 10; ++round) {
    const uint32_t h0 = mul_hi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0;
    const uint32_t h1 = mul_hi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
    c0 = h1 ^ c1 ^ k0;
    c1 = l1;
    c2 = h0 ^ c3 ^ k1;
    c3 = l0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {c0, c1};
}

int32_t luma(uint32_t p) {
  return static_cast<int32_t>((77 * (p & 255) + 150 * ((p >> 8) & 255) + 29 * ((p >> 16) & 255)) >>
                              8);
}

class Control {
 public:
  Control(const Picture& in, const Plan& plan)
      : in_(in), p_(plan), w_(static_cast<int>(plan.width)), h_(static_cast<int>(plan.height)) {}

  Picture run() {
    edges();
    seeds();
    for (uint32_t step = 0; step < p_.relax_steps; ++step) {
      regions();
      relax();
    }
    regions();
    return shade();
  }

 private:
  std::size_t at(int row, int column) const {
    return static_cast<std::size_t>(row) * p_.width + static_cast<std::size_t>(column);
  }

  void edges() {
    edge_.resize(in_.pixels.size());
#pragma omp parallel for schedule(static)
    for (int r = 0; r < h_; ++r) {
      for (int c = 0; c < w_; ++c) {
        const auto l = [&](int dr, int dc) {
          const int rr = r + dr, cc = c + dc;
          const bool inside = rr >= 0 && rr < h_ && cc >= 0 && cc < w_;
          return luma(in_.pixels[inside ? at(rr, cc) : at(r, c)]);
        };
        const int32_t gx = l(-1, 1) + 2 * l(0, 1) + l(1, 1) - l(-1, -1) - 2 * l(0, -1) - l(1, -1);
        const int32_t gy = l(1, -1) + 2 * l(1, 0) + l(1, 1) - l(-1, -1) - 2 * l(-1, 0) - l(-1, 1);
        edge_[at(r, c)] = static_cast<uint32_t>(std::min((std::abs(gx) + std::abs(gy)) / 4, 255));
      }
    }
  }

  void seeds() {
    seed_.resize(p_.stones());
#pragma omp parallel for schedule(static)
    for (int i = 0; i < static_cast<int>(p_.stones()); ++i) {
      const uint32_t n = static_cast<uint32_t>(i);
      const uint32_t left = n % p_.columns * p_.cell, top = n / p_.columns * p_.cell;
      const uint32_t wide = std::min(p_.cell, p_.width - left);
      const uint32_t high = std::min(p_.cell, p_.height - top);
      uint32_t best = 0, place = 0;
      for (uint32_t k = 0; k < candidates; ++k) {
        const auto random = philox(n, k, key_seed);
        const uint32_t x = left + random[0] % wide, y = top + random[1] % high;
        const uint32_t score =
            edge_[at(static_cast<int>(y), static_cast<int>(x))] * 8 + (random[0] >> 29) + 1;
        if (score > best) {
          best = score;
          place = x | (y << 16);
        }
      }
      seed_[n] = place;
    }
  }

  static uint32_t distance(uint32_t seed, int r, int c) {
    const int dx = c - static_cast<int>(seed & 0xffff), dy = r - static_cast<int>(seed >> 16);
    return static_cast<uint32_t>(dx * dx + dy * dy);
  }

  void regions() {
    id_.assign(in_.pixels.size(), no_stone);
    for (uint32_t n = 0; n < p_.stones(); ++n) {
      uint32_t& id = id_[at(static_cast<int>(seed_[n] >> 16), static_cast<int>(seed_[n] & 0xffff))];
      id = std::min(id, n);
    }
    std::vector<uint32_t> next(id_.size());
    for (uint32_t jump = p_.first_jump; jump > 0; jump /= 2) {
#pragma omp parallel for schedule(static)
      for (int r = 0; r < h_; ++r) {
        for (int c = 0; c < w_; ++c) {
          // The own square's seed first: it bounds the distance.
          uint32_t best =
              static_cast<uint32_t>(r) / p_.cell * p_.columns + static_cast<uint32_t>(c) / p_.cell;
          uint32_t least = distance(seed_[best], r, c);
          for (int dr = -1; dr <= 1; ++dr) {
            for (int dc = -1; dc <= 1; ++dc) {
              const int rr = r + dr * static_cast<int>(jump), cc = c + dc * static_cast<int>(jump);
              if (rr < 0 || rr >= h_ || cc < 0 || cc >= w_) continue;
              const uint32_t id = id_[at(rr, cc)];
              if (id == no_stone) continue;
              const uint32_t d = distance(seed_[id], r, c);
              if (d < least || (d == least && id < best)) {
                least = d;
                best = id;
              }
            }
          }
          next[at(r, c)] = best;
        }
      }
      id_.swap(next);
    }
  }

  void relax() {
    std::vector<uint32_t> weight(p_.stones(), 0);
    std::vector<int32_t> dx(p_.stones(), 0), dy(p_.stones(), 0);
#pragma omp parallel for schedule(static)
    for (int r = 0; r < h_; ++r) {
      for (int c = 0; c < w_; ++c) {
        const uint32_t id = id_[at(r, c)];
        const uint32_t w = 1 + edge_[at(r, c)] / 37;
        const int32_t x = c - static_cast<int>(seed_[id] & 0xffff),
                      y = r - static_cast<int>(seed_[id] >> 16);
#pragma omp atomic
        weight[id] += w;
#pragma omp atomic
        dx[id] += x * static_cast<int32_t>(w);
#pragma omp atomic
        dy[id] += y * static_cast<int32_t>(w);
      }
    }
#pragma omp parallel for schedule(static)
    for (int i = 0; i < static_cast<int>(p_.stones()); ++i) {
      const uint32_t n = static_cast<uint32_t>(i);
      if (weight[n] == 0) continue;
      const int32_t w = static_cast<int32_t>(weight[n]);
      const int32_t left = static_cast<int32_t>(n % p_.columns * p_.cell),
                    top = static_cast<int32_t>(n / p_.columns * p_.cell);
      const int32_t right = std::min(left + static_cast<int32_t>(p_.cell), w_) - 1;
      const int32_t bottom = std::min(top + static_cast<int32_t>(p_.cell), h_) - 1;
      const int32_t x =
          std::clamp(static_cast<int32_t>(seed_[n] & 0xffff) + dx[n] / w, left, right);
      const int32_t y = std::clamp(static_cast<int32_t>(seed_[n] >> 16) + dy[n] / w, top, bottom);
      seed_[n] = static_cast<uint32_t>(x) | (static_cast<uint32_t>(y) << 16);
    }
  }

  Picture shade() {
    std::vector<uint32_t> sum(4 * std::size_t{p_.stones()}, 0);
#pragma omp parallel for schedule(static)
    for (int r = 0; r < h_; ++r) {
      for (int c = 0; c < w_; ++c) {
        const std::size_t id = id_[at(r, c)];
        const uint32_t pixel = in_.pixels[at(r, c)];
        for (std::size_t channel = 0; channel < 3; ++channel) {
#pragma omp atomic
          sum[4 * id + channel] += (pixel >> (8 * channel)) & 255;
        }
#pragma omp atomic
        sum[4 * id + 3] += 1;
      }
    }
    Picture out{p_.width, p_.height, std::vector<uint32_t>(in_.pixels.size())};
    const int grout = static_cast<int>(grout_of(p_)), bevel = static_cast<int>(bevel_of(p_));
#pragma omp parallel for schedule(static)
    for (int r = 0; r < h_; ++r) {
      for (int c = 0; c < w_; ++c) {
        const uint32_t id = id_[at(r, c)];
        const auto other = [&](int dr, int dc) {
          const int rr = r + dr, cc = c + dc;
          return rr >= 0 && rr < h_ && cc >= 0 && cc < w_ && id_[at(rr, cc)] != id;
        };
        const auto grain = philox(static_cast<uint32_t>(c), static_cast<uint32_t>(r), key_tint)[0];
        if (other(-grout, 0) || other(grout, 0) || other(0, -grout) || other(0, grout)) {
          const uint32_t g = 46 + (grain & 15);
          out.pixels[at(r, c)] = g | (g << 8) | ((g + 4) << 16);
          continue;
        }
        int32_t light = static_cast<int32_t>(philox(id, 1, key_tint)[0] & 31) - 16 +
                        static_cast<int32_t>(grain & 7) - 4;
        if (other(-bevel, 0) || other(0, -bevel)) light += 34;
        if (other(bevel, 0) || other(0, bevel)) light -= 34;
        const int32_t dx = c - static_cast<int>(seed_[id] & 0xffff),
                      dy = r - static_cast<int>(seed_[id] >> 16);
        light -= (dx + dy) * 12 / static_cast<int32_t>(p_.cell);
        uint32_t pixel = 0;
        for (uint32_t channel = 0; channel < 3; ++channel) {
          const int32_t mean = static_cast<int32_t>(sum[4 * std::size_t{id} + channel] /
                                                    sum[4 * std::size_t{id} + 3]);
          pixel |= static_cast<uint32_t>(std::clamp(mean + light, 0, 255)) << (8 * channel);
        }
        out.pixels[at(r, c)] = pixel;
      }
    }
    return out;
  }

  const Picture& in_;
  const Plan& p_;
  int w_, h_;
  std::vector<uint32_t> edge_, seed_, id_;
};

}  // namespace

Picture run_control(const Picture& input, const Plan& plan) {
  return Control(input, plan).run();
}

}  // namespace tessera::mosaic
