// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tools/sha256.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tessera::tools {
namespace {

// The constants are the first 32 bits of the fractions of roots of the first primes.
std::uint32_t fraction(long double x) {
  return static_cast<std::uint32_t>((x - std::floor(x)) * 4294967296.0L);
}

struct Constants {
  std::array<std::uint32_t, 64> k{};
  std::array<std::uint32_t, 8> h{};
  Constants() {
    std::size_t n = 0;
    for (unsigned p = 2; n < 64; ++p) {
      bool prime = true;
      for (unsigned d = 2; d * d <= p; ++d) prime = prime && p % d != 0;
      if (!prime) continue;
      k[n] = fraction(std::cbrt(static_cast<long double>(p)));
      if (n < 8) h[n] = fraction(std::sqrt(static_cast<long double>(p)));
      ++n;
    }
  }
};

void block(const std::byte* data, std::array<std::uint32_t, 8>& state, const Constants& c) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t b = 0; b < 4; ++b)
      w[i] = (w[i] << 8) | static_cast<std::uint32_t>(data[4 * i + b]);
  }
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t a = w[i - 15], b = w[i - 2];
    const std::uint32_t s0 = std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3);
    const std::uint32_t s1 = std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto v = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t s1 = std::rotr(v[4], 6) ^ std::rotr(v[4], 11) ^ std::rotr(v[4], 25);
    const std::uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
    const std::uint32_t t1 = v[7] + s1 + choice + c.k[i] + w[i];
    const std::uint32_t s0 = std::rotr(v[0], 2) ^ std::rotr(v[0], 13) ^ std::rotr(v[0], 22);
    const std::uint32_t t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
    v = {t1 + t2, v[0], v[1], v[2], v[3] + t1, v[4], v[5], v[6]};
  }
  for (std::size_t i = 0; i < 8; ++i) state[i] += v[i];
}

}  // namespace

std::string sha256(std::span<const std::byte> bytes) {
  static const Constants constants;
  auto state = constants.h;
  std::size_t at = 0;
  for (; at + 64 <= bytes.size(); at += 64) block(bytes.data() + at, state, constants);
  std::vector<std::byte> tail(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end());
  tail.push_back(std::byte{0x80});
  while (tail.size() % 64 != 56) tail.push_back(std::byte{0});
  const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8)
    tail.push_back(static_cast<std::byte>(bits >> shift));
  for (at = 0; at < tail.size(); at += 64) block(tail.data() + at, state, constants);
  std::string out;
  for (const std::uint32_t word : state) out += fmt::format("{:08x}", word);
  return out;
}

}  // namespace tessera::tools
