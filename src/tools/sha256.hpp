// SPDX-License-Identifier: MIT OR Apache-2.0
// SHA-256 (FIPS 180-4), for telling pictures apart by name.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace tessera::tools {

/// 64 hexadecimal digits.
std::string sha256(std::span<const std::byte> bytes);

}  // namespace tessera::tools
