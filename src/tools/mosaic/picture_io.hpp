// SPDX-License-Identifier: MIT OR Apache-2.0
// Pictures from and to files.
#pragma once

#include <string>

#include "tessera/result.hpp"
#include "tools/mosaic/plan.hpp"

namespace tessera::mosaic {

inline constexpr std::uint64_t most_pixels = 30'000'000;      // of an input
inline constexpr std::uint64_t most_work_pixels = 4'000'000;  // what the mosaic is made at
inline constexpr std::uint32_t most_side = 16384;

/// PNG or JPEG from 1×1 to 30 million pixels. InvalidArgument or Io with the file and the reason.
Result<Picture> read_picture(const std::string& file);
/// The picture made smaller by whole steps, each target pixel the mean of its square, until it is
/// no larger than the mosaic works at. The same on every machine.
Picture shrink_to_work_size(const Picture& picture);
/// PNG. Io where the folder cannot be written to.
Status write_png(const std::string& file, const Picture& picture);
/// Both pictures, left and right, with a gap.
Picture side_by_side(const Picture& left, const Picture& right);
/// The middle of the picture, at most size × size.
Picture crop(const Picture& picture, std::uint32_t size);
/// SHA-256 of width, height and the RGB bytes.
std::string fingerprint(const Picture& picture);
/// A small coloured preview of half blocks for a terminal.
std::string preview(const Picture& picture, std::uint32_t columns);

}  // namespace tessera::mosaic
