// SPDX-License-Identifier: MIT OR Apache-2.0
// Functions that give WGSL the arithmetic of the language where its own differs or is left open.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace tessera::emit {

/// Names of helpers that a module uses; asking for one brings those it needs.
class Helpers {
 public:
  /// Marks the helper as used and returns its name.
  std::string_view use(std::string_view name);
  /// Their definitions, in an order in which each follows what it needs.
  std::string text() const;

 private:
  std::set<std::string, std::less<>> used_;
};

}  // namespace tessera::emit
