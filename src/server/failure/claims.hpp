// SPDX-License-Identifier: MIT OR Apache-2.0
// The failures recorded on the bytes of one allocation.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "server/ids.hpp"
#include "tessera/error.hpp"

namespace tessera::server {

/// Bytes [begin, end) were left unwritten because of `error`.
struct Claim {
  std::uint64_t begin, end;
  Error error;
  StreamId stream;         // of the operation that failed
  std::uint64_t sequence;  // orders claims of a device
};

/// A set of disjoint claims, sorted by offset. Never collapses: precision is the promise.
class Claims {
 public:
  bool empty() const noexcept { return claims_.empty(); }
  /// Replaces whatever stood on the range.
  void set(Claim claim);
  /// The same for the parts of the range that no claim covers.
  void set_where_clean(const Claim& claim);
  /// A write was enqueued over the range.
  void clear(std::uint64_t begin, std::uint64_t end);
  /// The claim of lowest offset that overlaps the range, or null.
  const Claim* first(std::uint64_t begin, std::uint64_t end) const;
  const std::vector<Claim>& all() const noexcept { return claims_; }

 private:
  std::vector<Claim> claims_;
};

}  // namespace tessera::server
