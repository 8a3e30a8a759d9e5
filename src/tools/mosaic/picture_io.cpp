// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tools/mosaic/picture_io.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "tools/sha256.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wunused-function"
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image_write.h>
#pragma GCC diagnostic pop

namespace tessera::mosaic {
namespace {

std::vector<unsigned char> rgb(const Picture& p) {
  std::vector<unsigned char> out;
  out.reserve(p.pixels.size() * 3);
  for (const std::uint32_t pixel : p.pixels) {
    for (int channel = 0; channel < 3; ++channel) {
      out.push_back(static_cast<unsigned char>(pixel >> (8 * channel)));
    }
  }
  return out;
}

}  // namespace

Result<Picture> read_picture(const std::string& file) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(std::fopen(file.c_str(), "rb"),
                                                           &std::fclose);
  if (!in) {
    return Error(ErrorKind::Io,
                 fmt::format("The picture {} cannot be opened: {}.", file, std::strerror(errno)));
  }
  int width = 0, height = 0, channels = 0;
  if (stbi_info_from_file(in.get(), &width, &height, &channels) == 0) {
    return Error(ErrorKind::InvalidArgument,
                 fmt::format("{} is no picture that can be read ({}); PNG and JPEG are.", file,
                             stbi_failure_reason()));
  }
  if (std::uint64_t(width) * std::uint64_t(height) > most_pixels) {
    return Error(ErrorKind::TooLarge, fmt::format("{} has {}×{} pixels; at most {} can be taken.",
                                                  file, width, height, most_pixels));
  }
  std::rewind(in.get());
  const std::unique_ptr<unsigned char, void (*)(void*)> data(
      stbi_load_from_file(in.get(), &width, &height, &channels, 3), &stbi_image_free);
  if (!data) {
    return Error(ErrorKind::InvalidArgument,
                 fmt::format("{} is damaged: {}.", file, stbi_failure_reason()));
  }
  Picture p{static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height), {}};
  p.pixels.resize(std::size_t{p.width} * p.height);
  for (std::size_t i = 0; i < p.pixels.size(); ++i) {
    const unsigned char* c = data.get() + 3 * i;
    p.pixels[i] = c[0] | (std::uint32_t{c[1]} << 8) | (std::uint32_t{c[2]} << 16);
  }
  return p;
}

Picture shrink_to_work_size(const Picture& p) {
  std::uint32_t step = 1;
  const auto side = [&](std::uint32_t n) { return (n + step - 1) / step; };
  while (std::uint64_t{side(p.width)} * side(p.height) > most_work_pixels ||
         side(p.width) > most_side || side(p.height) > most_side) {
    ++step;
  }
  if (step == 1) return p;
  Picture out{side(p.width), side(p.height), {}};
  out.pixels.resize(std::size_t{out.width} * out.height);
  for (std::uint32_t y = 0; y < out.height; ++y) {
    for (std::uint32_t x = 0; x < out.width; ++x) {
      std::uint32_t sum[3] = {}, n = 0;
      for (std::uint32_t v = y * step; v < std::min((y + 1) * step, p.height); ++v) {
        for (std::uint32_t u = x * step; u < std::min((x + 1) * step, p.width); ++u) {
          const std::uint32_t pixel = p.pixels[std::size_t{v} * p.width + u];
          for (int c = 0; c < 3; ++c) sum[c] += (pixel >> (8 * c)) & 255;
          ++n;
        }
      }
      out.pixels[std::size_t{y} * out.width + x] =
          sum[0] / n | ((sum[1] / n) << 8) | ((sum[2] / n) << 16);
    }
  }
  return out;
}

Status write_png(const std::string& file, const Picture& p) {
  const std::vector<unsigned char> bytes = rgb(p);
  errno = 0;
  if (stbi_write_png(file.c_str(), static_cast<int>(p.width), static_cast<int>(p.height), 3,
                     bytes.data(), static_cast<int>(p.width * 3)) == 0) {
    return Error(ErrorKind::Io, fmt::format("{} cannot be written: {}.", file,
                                            errno != 0 ? std::strerror(errno) : "unknown reason"));
  }
  return {};
}

Picture side_by_side(const Picture& left, const Picture& right) {
  constexpr std::uint32_t gap = 8;
  Picture out{left.width + gap + right.width, std::max(left.height, right.height), {}};
  out.pixels.assign(std::size_t{out.width} * out.height, 0xffffffu);
  const auto paste = [&](const Picture& p, std::uint32_t at) {
    for (std::uint32_t y = 0; y < p.height; ++y) {
      std::copy_n(p.pixels.begin() + std::ptrdiff_t{y} * p.width, p.width,
                  out.pixels.begin() + std::ptrdiff_t{y} * out.width + at);
    }
  };
  paste(left, 0);
  paste(right, left.width + gap);
  return out;
}

Picture crop(const Picture& p, std::uint32_t size) {
  Picture out{std::min(size, p.width), std::min(size, p.height), {}};
  const std::uint32_t left = (p.width - out.width) / 2, top = (p.height - out.height) / 2;
  for (std::uint32_t y = 0; y < out.height; ++y) {
    const auto row = p.pixels.begin() + std::ptrdiff_t{top + y} * p.width + left;
    out.pixels.insert(out.pixels.end(), row, row + out.width);
  }
  return out;
}

std::string fingerprint(const Picture& p) {
  std::vector<unsigned char> bytes = rgb(p);
  for (const std::uint32_t n : {p.width, p.height}) {
    for (int shift = 0; shift < 32; shift += 8)
      bytes.push_back(static_cast<unsigned char>(n >> shift));
  }
  return tools::sha256(std::as_bytes(std::span<const unsigned char>(bytes)));
}

std::string preview(const Picture& p, std::uint32_t columns) {
  columns = std::min(columns, p.width);
  const std::uint32_t rows = std::max(1u, columns * p.height / p.width / 2);
  const auto pixel = [&](std::uint32_t x, std::uint32_t y) {
    const std::uint32_t u = x * p.width / columns,
                        v = std::min(y * p.height / (2 * rows), p.height - 1);
    const std::uint32_t c = p.pixels[std::size_t{v} * p.width + u];
    return fmt::format("{};{};{}", c & 255, (c >> 8) & 255, (c >> 16) & 255);
  };
  std::string out;
  for (std::uint32_t y = 0; y < rows; ++y) {
    for (std::uint32_t x = 0; x < columns; ++x) {
      out += fmt::format("\x1b[38;2;{}m\x1b[48;2;{}m▀", pixel(x, 2 * y), pixel(x, 2 * y + 1));
    }
    out += "\x1b[0m\n";
  }
  return out;
}

}  // namespace tessera::mosaic
