// SPDX-License-Identifier: MIT OR Apache-2.0
#include "bare_webgpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace tessera::bench {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::string saxpy_text(int salt) {
  return fmt::format(
      "@group(0) @binding(0) var<storage, read_write> x: array<f32>;\n"
      "@group(0) @binding(1) var<storage, read_write> y: array<f32>;\n"
      "@compute @workgroup_size(256)\n"
      "fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: "
      "vec3<u32>) "
      "{{\n  let i = id.x + id.y * n.x * 256u;\n"
      "  if (i < arrayLength(&y)) {{ y[i] = 2.0f * x[i] + y[i]; }}\n}}\n// {}\n",
      salt);
}

template <class T>
void keep_object(std::uint32_t, T object, wg::StringView, void* user, void*) {
  *static_cast<T*>(user) = object;
}
void nothing(std::uint32_t, wg::StringView, void*, void*) {}

}  // namespace

std::unique_ptr<BareWebgpu> BareWebgpu::open(const driver::AdapterInfo& info,
                                             std::uint64_t elements, std::string& why) {
  Result<const wg::Api*> api = wg::open_api("");
  if (!api) return why = api.error().message(), nullptr;
  Result<driver::OpenAdapter> adapter = driver::request_adapter(**api, info.manifest);
  if (!adapter) return why = adapter.error().message(), nullptr;
  std::unique_ptr<BareWebgpu> b(new BareWebgpu(**api));
  b->instance_ = adapter->instance;
  wg::Limits limits;
  b->api_.AdapterGetLimits(adapter->adapter, &limits);
  limits.next = nullptr;
  wg::DeviceDescriptor descriptor;
  descriptor.limits = &limits;
  descriptor.lost.mode = wg::mode_allow_spontaneous;
  descriptor.lost.callback = [](const wg::Device*, std::uint32_t, wg::StringView, void*, void*) {};
  b->wait(b->api_.AdapterRequestDevice(
      adapter->adapter, &descriptor,
      {nullptr, wg::mode_wait_any_only, keep_object<wg::Device>, &b->device_, nullptr}));
  b->api_.AdapterRelease(adapter->adapter);
  if (b->device_ == nullptr) return why = "no device", nullptr;
  b->queue_ = b->api_.DeviceGetQueue(b->device_);
  const wg::Flags usage = wg::usage_storage | wg::usage_copy_src | wg::usage_copy_dst;
  b->x_ = b->buffer(usage, elements * 4);
  b->y_ = b->buffer(usage, elements * 4);
  b->map_ = b->buffer(wg::usage_map_read | wg::usage_copy_dst, 256);
  wg::BindGroupLayoutEntry entries[2];
  for (std::uint32_t i = 0; i < 2; ++i) {
    entries[i].binding = i;
    entries[i].buffer.type = wg::binding_storage;
  }
  wg::BindGroupLayoutDescriptor layout;
  layout.entry_count = 2;
  layout.entries = entries;
  b->layout_ = b->api_.DeviceCreateBindGroupLayout(b->device_, &layout);
  wg::PipelineLayoutDescriptor pipeline_layout;
  pipeline_layout.layout_count = 1;
  pipeline_layout.layouts = &b->layout_;
  b->pipeline_layout_ = b->api_.DeviceCreatePipelineLayout(b->device_, &pipeline_layout);
  b->saxpy_ = b->pipeline(saxpy_text(-1));
  wg::BindGroupEntry bound[2];
  bound[0].buffer = b->x_;
  bound[1].buffer = b->y_;
  for (std::uint32_t i = 0; i < 2; ++i) {
    bound[i].binding = i;
    bound[i].size = elements * 4;
  }
  wg::BindGroupDescriptor group;
  group.layout = b->layout_;
  group.entry_count = 2;
  group.entries = bound;
  b->group_ = b->api_.DeviceCreateBindGroup(b->device_, &group);
  return b;
}

BareWebgpu::~BareWebgpu() {
  if (group_ != nullptr) api_.BindGroupRelease(group_);
  if (saxpy_ != nullptr) api_.ComputePipelineRelease(saxpy_);
  if (pipeline_layout_ != nullptr) api_.PipelineLayoutRelease(pipeline_layout_);
  if (layout_ != nullptr) api_.BindGroupLayoutRelease(layout_);
  for (const wg::Buffer b : {x_, y_, map_}) {
    if (b != nullptr) api_.BufferRelease(b);
  }
  if (queue_ != nullptr) api_.QueueRelease(queue_);
  if (device_ != nullptr) api_.DeviceRelease(device_);
}

void BareWebgpu::wait(wg::Future future) {
  wg::FutureWaitInfo info{future, 0};
  while (info.completed == 0) api_.InstanceWaitAny(instance_, 1, &info, 1'000'000'000);
}

wg::Buffer BareWebgpu::buffer(wg::Flags usage, std::uint64_t bytes) {
  wg::BufferDescriptor descriptor;
  descriptor.usage = usage;
  descriptor.size = bytes;
  return api_.DeviceCreateBuffer(device_, &descriptor);
}

wg::ComputePipeline BareWebgpu::pipeline(const std::string& code) {
  wg::ShaderSourceWgsl source;
  source.code = {code.data(), code.size()};
  wg::ShaderModuleDescriptor module_descriptor;
  module_descriptor.next = &source.chain;
  const wg::ShaderModule module = api_.DeviceCreateShaderModule(device_, &module_descriptor);
  wg::ComputePipelineDescriptor descriptor;
  descriptor.layout = pipeline_layout_;
  descriptor.compute.module = module;
  descriptor.compute.entry = {"main", 4};
  wg::ComputePipeline made = nullptr;
  wait(api_.DeviceCreateComputePipelineAsync(
      device_, &descriptor,
      {nullptr, wg::mode_wait_any_only, keep_object<wg::ComputePipeline>, &made, nullptr}));
  api_.ShaderModuleRelease(module);
  return made;
}

double BareWebgpu::compile_ms(int salt) {
  const auto begin = Clock::now();
  const wg::ComputePipeline made = pipeline(saxpy_text(salt));
  const double ms = since(begin) * 1e3;
  api_.ComputePipelineRelease(made);
  return ms;
}

double BareWebgpu::dispatches(int count, int batch, std::uint64_t elements) {
  const auto begin = Clock::now();
  const std::uint64_t cubes = (elements + 255) / 256;
  const auto x = static_cast<std::uint32_t>(std::min<std::uint64_t>(cubes, 65535));
  const auto y = static_cast<std::uint32_t>((cubes + x - 1) / x);
  const wg::LabelDescriptor label;
  const wg::ComputePassDescriptor pass_descriptor;
  for (int done = 0; done < count;) {
    const wg::CommandEncoder encoder = api_.DeviceCreateCommandEncoder(device_, &label);
    const wg::ComputePass pass = api_.CommandEncoderBeginComputePass(encoder, &pass_descriptor);
    api_.ComputePassEncoderSetPipeline(pass, saxpy_);
    for (int i = 0; i < batch && done < count; ++i, ++done) {
      api_.ComputePassEncoderSetBindGroup(pass, 0, group_, 0, nullptr);
      api_.ComputePassEncoderDispatchWorkgroups(pass, x, y, 1);
    }
    api_.ComputePassEncoderEnd(pass);
    api_.ComputePassEncoderRelease(pass);
    const wg::CommandBuffer commands = api_.CommandEncoderFinish(encoder, &label);
    api_.CommandEncoderRelease(encoder);
    api_.QueueSubmit(queue_, 1, &commands);
    api_.CommandBufferRelease(commands);
  }
  wait(api_.QueueOnSubmittedWorkDone(queue_,
                                     {nullptr, wg::mode_wait_any_only, nothing, nullptr, nullptr}));
  return since(begin);
}

double BareWebgpu::read4() {
  const auto begin = Clock::now();
  const wg::LabelDescriptor label;
  const wg::CommandEncoder encoder = api_.DeviceCreateCommandEncoder(device_, &label);
  api_.CommandEncoderCopyBufferToBuffer(encoder, y_, 0, map_, 0, 4);
  const wg::CommandBuffer commands = api_.CommandEncoderFinish(encoder, &label);
  api_.CommandEncoderRelease(encoder);
  api_.QueueSubmit(queue_, 1, &commands);
  api_.CommandBufferRelease(commands);
  wait(api_.BufferMapAsync(map_, wg::map_read, 0, 4,
                           {nullptr, wg::mode_wait_any_only, nothing, nullptr, nullptr}));
  std::uint32_t value = 0;
  if (const void* bytes = api_.BufferGetConstMappedRange(map_, 0, 4)) std::memcpy(&value, bytes, 4);
  api_.BufferUnmap(map_);
  return since(begin) + (value == 1 ? 1e-12 : 0);  // the value is used, so it is read
}

}  // namespace tessera::bench
