// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/failure/claims.hpp"

#include <algorithm>

namespace tessera::server {

void Claims::clear(std::uint64_t begin, std::uint64_t end) {
  if (claims_.empty() || begin >= end) return;
  std::vector<Claim> rest;
  rest.reserve(claims_.size() + 1);
  for (Claim& c : claims_) {
    if (c.end <= begin || end <= c.begin) {
      rest.push_back(std::move(c));
      continue;
    }
    if (c.begin < begin) rest.push_back({c.begin, begin, c.error, c.stream, c.sequence});
    if (end < c.end) rest.push_back({end, c.end, c.error, c.stream, c.sequence});
  }
  claims_ = std::move(rest);
}

void Claims::set(Claim claim) {
  if (claim.begin >= claim.end) return;
  clear(claim.begin, claim.end);
  const auto place = std::find_if(claims_.begin(), claims_.end(),
                                  [&](const Claim& c) { return c.begin > claim.begin; });
  claims_.insert(place, std::move(claim));
}

void Claims::set_where_clean(const Claim& claim) {
  std::uint64_t at = claim.begin;
  std::vector<Claim> gaps;
  for (const Claim& c : claims_) {
    if (c.end <= at) continue;
    if (c.begin >= claim.end) break;
    if (at < c.begin) gaps.push_back({at, c.begin, claim.error, claim.stream, claim.sequence});
    at = c.end;
  }
  if (at < claim.end) gaps.push_back({at, claim.end, claim.error, claim.stream, claim.sequence});
  for (Claim& gap : gaps) set(std::move(gap));
}

const Claim* Claims::first(std::uint64_t begin, std::uint64_t end) const {
  for (const Claim& c : claims_) {
    if (c.begin < end && begin < c.end) return &c;
  }
  return nullptr;
}

}  // namespace tessera::server
