// SPDX-License-Identifier: MIT OR Apache-2.0
// Operations, encoded in call order. Executor only.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "driver/webgpu/webgpu_driver.hpp"
#include "emit/info_layout.hpp"
#include "emit/wgsl.hpp"
#include "emit/wgsl_statements.hpp"

namespace tessera::driver {
namespace {

constexpr std::size_t group_cache_limit = 512;
constexpr std::uint64_t encoder_upload_limit = 256 * 1024;

std::uint64_t down4(std::uint64_t n) {
  return n & ~std::uint64_t{3};
}
std::uint64_t up4(std::uint64_t n) {
  return (n + 3) & ~std::uint64_t{3};
}

}  // namespace

void WebgpuDriver::begin() {
  if (encoder_ != nullptr) return;
  const wg::LabelDescriptor descriptor;
  encoder_ = api_.DeviceCreateCommandEncoder(device_, &descriptor);
  open_ = {};
  open_.first = last_ticket_ + 1;
  // Slots are cleared ahead of whatever in this segment uses them again.
  for (const std::uint32_t slot : slots_to_clear_) {
    api_.CommandEncoderClearBuffer(encoder_, faults_, slot * 16u, 16);
  }
  slots_to_clear_.clear();
}

wg::ComputePass WebgpuDriver::pass() {
  begin();
  if (pass_ == nullptr) {
    const wg::ComputePassDescriptor descriptor;
    pass_ = api_.CommandEncoderBeginComputePass(encoder_, &descriptor);
    pass_pipeline_ = nullptr;
  }
  return pass_;
}

void WebgpuDriver::end_pass() {
  if (pass_ == nullptr) return;
  api_.ComputePassEncoderEnd(pass_);
  api_.ComputePassEncoderRelease(pass_);
  pass_ = nullptr;
}

Ticket WebgpuDriver::next_ticket() {
  open_.last = ++last_ticket_;
  return last_ticket_;
}

// Room in the uniform ring for one launch; its dynamic offset.
Result<std::uint32_t> WebgpuDriver::put_uniform(std::span<const std::uint32_t> words) {
  const std::uint64_t bytes =
      (words.size_bytes() + uniform_align_ - 1) & ~(std::uint64_t{uniform_align_} - 1);
  std::uint64_t at = uniform_head_;
  if (at % uniform_bytes_ + bytes > uniform_bytes_) at += uniform_bytes_ - at % uniform_bytes_;
  if (at + bytes - uniform_done_.load(std::memory_order_acquire) > uniform_bytes_) {
    return Error(
        ErrorKind::LaunchFailed,
        fmt::format("The parameters of launches in flight fill the {} bytes kept for them.",
                    uniform_bytes_));
  }
  uniform_head_ = at + bytes;
  open_.uniform_end = uniform_head_;
  std::memcpy(uniform_shadow_.data() + at % uniform_bytes_, words.data(), words.size_bytes());
  return static_cast<std::uint32_t>(at % uniform_bytes_);
}

wg::BindGroupEntry WebgpuDriver::uniform_entry(std::uint32_t binding, std::uint64_t bytes) const {
  wg::BindGroupEntry e;
  e.binding = binding;
  e.buffer = uniform_;
  e.size = bytes;
  return e;
}

wg::BindGroup WebgpuDriver::bind_group(wg::BindGroupLayout layout,
                                       std::span<const wg::BindGroupEntry> entries) {
  std::string key(reinterpret_cast<const char*>(&layout), sizeof layout);
  for (const wg::BindGroupEntry& e : entries) {
    const std::uint64_t part[4] = {e.binding, reinterpret_cast<std::uintptr_t>(e.buffer), e.offset,
                                   e.size};
    key.append(reinterpret_cast<const char*>(part), sizeof part);
  }
  if (const auto it = groups_.find(key); it != groups_.end()) return it->second.group;
  if (groups_.size() >= group_cache_limit) drop_bind_groups();
  wg::BindGroupDescriptor descriptor;
  descriptor.layout = layout;
  descriptor.entry_count = entries.size();
  descriptor.entries = entries.data();
  const wg::BindGroup group = api_.DeviceCreateBindGroup(device_, &descriptor);
  groups_.emplace(std::move(key), CachedGroup{group});
  return group;
}

// Encoded work keeps its groups alive by itself.
void WebgpuDriver::drop_bind_groups() {
  for (const auto& [key, cached] : groups_) api_.BindGroupRelease(cached.group);
  groups_.clear();
}

Result<Ticket> WebgpuDriver::launch(QueueId, const LaunchDesc& launch) {
  if (Status s = alive(); !s) return s.error();
  const Kernel* kernel = nullptr;
  {
    const std::lock_guard lock(kernels_mutex_);
    kernel = &kernels_[launch.kernel];
  }
  const auto n = static_cast<std::uint32_t>(launch.bindings.size());
  const std::uint32_t words = emit::info_vec4s(*kernel->ir) * 4;
  std::vector<std::uint32_t> info(words, 0);
  for (std::size_t i = 0; i < 3; ++i) info[emit::info_cubes + i] = launch.virtual_cubes[i];
  info[emit::info_cube_total] =
      launch.virtual_cubes[0] * launch.virtual_cubes[1] * launch.virtual_cubes[2];
  info[emit::info_fault_slot] = launch.fault_slot;
  info[emit::info_fault_claim] = launch.fault_claim;
  for (std::size_t i = 0; i < launch.parameters.size(); ++i) {
    info[emit::info_parameters + i] = static_cast<std::uint32_t>(launch.parameters[i]);
  }
  const auto calls = guard();
  begin();
  Result<std::uint32_t> offset = put_uniform(info);
  if (!offset) return offset.error();

  std::vector<wg::BindGroupEntry> entries;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (emit::storage_of(kernel->variant, i) != i) continue;
    const Region& r = launch.bindings[i];
    wg::BindGroupEntry e;
    e.binding = i;
    e.buffer = pages_[r.page].buffer;
    e.offset = r.offset;
    e.size = up4(r.bytes);
    if (r.bytes == 0) {
      // Something has to be bound; it has no place of its own on any page.
      e.buffer = nothing_;
      e.offset = std::uint64_t{i} * properties_.offset_alignment;
      e.size = 4;
    }
    entries.push_back(e);
  }
  entries.push_back(uniform_entry(n, words * 4));
  if (kernel->can_fault) {
    wg::BindGroupEntry e;
    e.binding = n + 1;
    e.buffer = faults_;
    e.size = fault_words_.size() * 16;
    entries.push_back(e);
    open_.fault_slots.push_back(launch.fault_slot);
  }
  const wg::BindGroup group = bind_group(kernel->layout, entries);
  const wg::ComputePass into = pass();
  if (pass_pipeline_ != kernel->pipeline) {
    api_.ComputePassEncoderSetPipeline(into, kernel->pipeline);
    pass_pipeline_ = kernel->pipeline;
  }
  api_.ComputePassEncoderSetBindGroup(into, 0, group, 1, &*offset);
  if (launch.indirect) {
    api_.ComputePassEncoderDispatchWorkgroupsIndirect(into, pages_[launch.indirect->page].buffer,
                                                      launch.indirect->offset);
  } else {
    api_.ComputePassEncoderDispatchWorkgroups(into, launch.cubes[0], launch.cubes[1],
                                              launch.cubes[2]);
  }
  return next_ticket();
}

Result<Ticket> WebgpuDriver::copy(QueueId, Region from, Region to) {
  if (Status s = alive(); !s) return s.error();
  const auto calls = guard();
  begin();
  end_pass();
  wg::Buffer source = pages_[from.page].buffer;
  std::uint64_t offset = from.offset;
  wg::Buffer temporary = nullptr;
  if (from.page == to.page) {
    // A buffer cannot be copied to itself.
    const std::uint64_t begin_word = down4(from.offset);
    const std::uint64_t bytes = up4(from.offset + from.bytes) - begin_word;
    wg::BufferDescriptor descriptor;
    descriptor.usage = wg::usage_storage | wg::usage_copy_src | wg::usage_copy_dst;
    descriptor.size = bytes;
    temporary = api_.DeviceCreateBuffer(device_, &descriptor);
    api_.CommandEncoderCopyBufferToBuffer(encoder_, source, begin_word, temporary, 0, bytes);
    source = temporary;
    offset -= begin_word;
  }
  Status done;
  if (offset % 4 == 0 && to.offset % 4 == 0 && from.bytes % 4 == 0) {
    api_.CommandEncoderCopyBufferToBuffer(encoder_, source, offset, pages_[to.page].buffer,
                                          to.offset, from.bytes);
  } else {
    done = edge_copy(source, offset, pages_[to.page], to.offset, from.bytes);
  }
  if (temporary != nullptr) {
    drop_bind_groups();
    api_.BufferRelease(temporary);
  }
  if (!done) return done.error();
  return next_ticket();
}

Result<Ticket> WebgpuDriver::fill(QueueId, Region to, std::uint64_t pattern, int width) {
  if (Status s = alive(); !s) return s.error();
  const auto calls = guard();
  begin();
  end_pass();
  if (pattern == 0 && to.offset % 4 == 0 && to.bytes % 4 == 0) {
    api_.CommandEncoderClearBuffer(encoder_, pages_[to.page].buffer, to.offset, to.bytes);
  } else if (Status s = edge_fill(pages_[to.page], to, pattern, width); !s) {
    return s.error();
  }
  return next_ticket();
}

Result<Ticket> WebgpuDriver::upload(QueueId, std::span<const std::byte> from, Region to) {
  if (Status s = alive(); !s) return s.error();
  {
    const auto calls = guard();
    const Page& p = pages_[to.page];
    // Whole words go as they are; what is left at the ends is merged with its neighbours.
    const std::uint64_t first = std::min(up4(to.offset), to.offset + to.bytes);
    const std::uint64_t last = std::max(down4(to.offset + to.bytes), first);
    const auto* data = reinterpret_cast<const std::uint8_t*>(from.data());
    begin();
    end_pass();
    if (first > to.offset) {
      if (Status s = edge_write(p, to.offset, from.first(first - to.offset)); !s) return s.error();
      end_pass();
    }
    if (last > first && last - first <= encoder_upload_limit) {
      api_.CommandEncoderWriteBuffer(encoder_, p.buffer, first, data + (first - to.offset),
                                     last - first);
    }
    if (to.offset + to.bytes > last) {
      if (Status s = edge_write(p, last, from.subspan(last - to.offset)); !s) return s.error();
      end_pass();
    }
    if (last - first <= encoder_upload_limit) return next_ticket();
  }
  // Large bodies go by the queue, which runs them before anything submitted later: so what is
  // encoded up to here is submitted first.
  const std::uint64_t first = std::min(up4(to.offset), to.offset + to.bytes);
  const std::uint64_t last = down4(to.offset + to.bytes);
  const Ticket ticket = next_ticket();
  if (Status s = submit(0); !s) return s.error();
  const auto calls = guard();
  api_.QueueWriteBuffer(queue_, pages_[to.page].buffer, first, from.data() + (first - to.offset),
                        last - first);
  return ticket;
}

Result<WebgpuDriver::Mappable> WebgpuDriver::take_mappable(std::uint64_t bytes) {
  std::uint64_t size = 256;
  while (size < bytes) size *= 2;
  {
    const std::lock_guard lock(state_);
    auto& list = mappables_[size];
    if (!list.empty()) {
      const wg::Buffer buffer = list.back();
      list.pop_back();
      return Mappable{buffer, size};
    }
  }
  wg::BufferDescriptor descriptor;
  descriptor.usage = wg::usage_map_read | wg::usage_copy_dst;
  descriptor.size = size;
  const wg::Buffer buffer = api_.DeviceCreateBuffer(device_, &descriptor);
  if (buffer == nullptr) {
    return Error(ErrorKind::OutOfMemory,
                 fmt::format("There is no host memory for reading back {} bytes.", bytes));
  }
  return Mappable{buffer, size};
}

// With state_ held.
void WebgpuDriver::give_mappable(Mappable m) {
  mappables_[m.bytes].push_back(m.buffer);
}

Result<Driver::Download> WebgpuDriver::download(QueueId, Region from) {
  if (Status s = alive(); !s) return s.error();
  const auto calls = guard();
  const std::uint64_t first = down4(from.offset);
  const std::uint64_t bytes = up4(from.offset + from.bytes) - first;
  Result<Mappable> staging = take_mappable(bytes);
  if (!staging) return staging.error();
  begin();
  end_pass();
  api_.CommandEncoderCopyBufferToBuffer(encoder_, pages_[from.page].buffer, first, staging->buffer,
                                        0, bytes);
  const std::lock_guard lock(state_);
  const ReadId id = next_read_++;
  reads_[id] = {*staging, from.offset - first, from.bytes, false, false, false};
  open_.reads.push_back(id);
  return Download{next_ticket(), id};
}

}  // namespace tessera::driver
