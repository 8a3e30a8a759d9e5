// SPDX-License-Identifier: MIT OR Apache-2.0
// Bytes that are no whole words. WebGPU copies and fills words alone, so the ends of an odd range,
// and ranges at odd offsets, go through three small kernels that leave their neighbours' bytes as
// they are. One invocation writes one word, so none races with another.
#include <algorithm>
#include <cstring>

#include "driver/webgpu/webgpu_driver.hpp"

namespace tessera::driver {
namespace {

constexpr std::uint32_t units = 64;

// words: 0 first word, 1 how many, 2 first byte, 3 last byte + 1, then by kernel.
constexpr const char* head = R"(
struct Info { words: array<vec4<u32>, 2> };
@group(0) @binding(0) var<storage, read_write> target_words: array<u32>;
@group(0) @binding(1) var<uniform> info: Info;
fn mask(word: u32, first: u32, last: u32) -> u32 {
  var m = 0u;
  for (var b = 0u; b < 4u; b++) {
    let at = word * 4u + b;
    if (at >= first && at < last) { m |= 0xffu << (8u * b); }
  }
  return m;
}
)";

constexpr const char* write_text = R"(
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x > 0u) { return; }
  let word = info.words[0].x;
  let m = mask(word, info.words[0].z, info.words[0].w);
  target_words[word] = (target_words[word] & ~m) | (info.words[1].x & m);
}
)";

// 4 first source byte
constexpr const char* copy_text = R"(
@group(0) @binding(2) var<storage, read> origin: array<u32>;
fn source(at: u32) -> u32 { return (origin[at / 4u] >> (8u * (at % 4u))) & 0xffu; }
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {
  let i = id.x + id.y * n.x * 64u;
  if (i >= info.words[0].y) { return; }
  let word = info.words[0].x + i;
  let first = info.words[0].z;
  let last = info.words[0].w;
  var value = target_words[word];
  for (var b = 0u; b < 4u; b++) {
    let at = word * 4u + b;
    if (at >= first && at < last) {
      let byte = source(info.words[1].x + at - first);
      value = (value & ~(0xffu << (8u * b))) | (byte << (8u * b));
    }
  }
  target_words[word] = value;
}
)";

// 4 and 5 the pattern, 6 its bytes
constexpr const char* fill_text = R"(
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {
  let i = id.x + id.y * n.x * 64u;
  if (i >= info.words[0].y) { return; }
  let word = info.words[0].x + i;
  let first = info.words[0].z;
  let m = mask(word, first, info.words[0].w);
  var value = 0u;
  for (var b = 0u; b < 4u; b++) {
    let at = word * 4u + b;
    if (at >= first) {
      let phase = (at - first) % info.words[1].z;
      let half = select(info.words[1].x, info.words[1].y, phase >= 4u);
      value |= ((half >> (8u * (phase % 4u))) & 0xffu) << (8u * b);
    }
  }
  target_words[word] = (target_words[word] & ~m) | (value & m);
}
)";

wg::BindGroupLayoutEntry layout(std::uint32_t binding, std::uint32_t type, bool dynamic) {
  wg::BindGroupLayoutEntry e;
  e.binding = binding;
  e.buffer.type = type;
  e.buffer.dynamic_offset = dynamic ? 1 : 0;
  return e;
}

wg::BindGroupEntry whole(std::uint32_t binding, wg::Buffer buffer, std::uint64_t bytes) {
  wg::BindGroupEntry e;
  e.binding = binding;
  e.buffer = buffer;
  e.size = bytes;
  return e;
}

}  // namespace

Status WebgpuDriver::make_edges() {
  const std::string common = head;
  std::vector<wg::BindGroupLayoutEntry> entries = {layout(0, wg::binding_storage, false),
                                                   layout(1, wg::binding_uniform, true)};
  Result<Kernel> write = build(common + write_text, nullptr, {}, entries, "edge_write");
  if (!write) return write.error();
  Result<Kernel> fill = build(common + fill_text, nullptr, {}, entries, "edge_fill");
  if (!fill) return fill.error();
  entries.push_back(layout(2, wg::binding_read_only_storage, false));
  Result<Kernel> copy = build(common + copy_text, nullptr, {}, entries, "edge_copy");
  if (!copy) return copy.error();
  edges_ = {*std::move(write), *std::move(copy), *std::move(fill)};
  return {};
}

Status WebgpuDriver::edge_dispatch(const Kernel& kernel,
                                   std::span<const wg::BindGroupEntry> buffers,
                                   std::array<std::uint32_t, 8> words, std::uint64_t invocations) {
  Result<std::uint32_t> offset = put_uniform(words);
  if (!offset) return offset.error();
  const wg::BindGroup group = bind_group(kernel.layout, buffers);
  const wg::ComputePass into = pass();
  api_.ComputePassEncoderSetPipeline(into, kernel.pipeline);
  api_.ComputePassEncoderSetBindGroup(into, 0, group, 1, &*offset);
  const std::uint64_t cubes = (invocations + units - 1) / units;
  const auto x =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(cubes, properties_.max_cubes[0]));
  const auto y = static_cast<std::uint32_t>((cubes + x - 1) / x);
  api_.ComputePassEncoderDispatchWorkgroups(into, x, y, 1);
  end_pass();
  return {};
}

Status WebgpuDriver::edge_write(const Page& page, std::uint64_t offset,
                                std::span<const std::byte> bytes) {
  const wg::BindGroupEntry entries[] = {whole(0, page.buffer, page.bytes), uniform_entry(1, 32)};
  std::uint32_t value = 0;
  std::memcpy(reinterpret_cast<std::byte*>(&value) + offset % 4, bytes.data(), bytes.size());
  const auto first = static_cast<std::uint32_t>(offset);
  return edge_dispatch(
      edges_.write, entries,
      {first / 4, 1, first, static_cast<std::uint32_t>(first + bytes.size()), value, 0, 0, 0}, 1);
}

Status WebgpuDriver::edge_copy(wg::Buffer from, std::uint64_t from_offset, const Page& to,
                               std::uint64_t to_offset, std::uint64_t bytes) {
  wg::BindGroupEntry source;
  source.binding = 2;
  source.buffer = from;
  // From an aligned place on, so that the bound part begins where binding may begin.
  source.offset = from_offset & ~std::uint64_t{properties_.offset_alignment - 1};
  source.size = (from_offset + bytes - source.offset + 3) & ~std::uint64_t{3};
  const wg::BindGroupEntry entries[] = {whole(0, to.buffer, to.bytes), uniform_entry(1, 32),
                                        source};
  const auto first = static_cast<std::uint32_t>(to_offset);
  const auto last = static_cast<std::uint32_t>(to_offset + bytes);
  const std::uint32_t count = (last + 3) / 4 - first / 4;
  return edge_dispatch(edges_.copy, entries,
                       {first / 4, count, first, last,
                        static_cast<std::uint32_t>(from_offset - source.offset), 0, 0, 0},
                       count);
}

Status WebgpuDriver::edge_fill(const Page& page, Region to, std::uint64_t pattern, int width) {
  const wg::BindGroupEntry entries[] = {whole(0, page.buffer, page.bytes), uniform_entry(1, 32)};
  const auto first = static_cast<std::uint32_t>(to.offset);
  const auto last = static_cast<std::uint32_t>(to.offset + to.bytes);
  const std::uint32_t count = (last + 3) / 4 - first / 4;
  return edge_dispatch(
      edges_.fill, entries,
      {first / 4, count, first, last, static_cast<std::uint32_t>(pattern),
       static_cast<std::uint32_t>(pattern >> 32), static_cast<std::uint32_t>(width), 0},
      count);
}

}  // namespace tessera::driver
