// SPDX-License-Identifier: MIT OR Apache-2.0
// The part of the WebGPU C interface that computing needs, declared by ourselves.
//
// Names and layouts are those of the standard header as libraries of mid 2025 implement it; where
// such a library differs from the later standard, the comment says so. Declared here and not
// included, because the library is opened at run time and ships without a header.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::wg {

// Opaque objects, counted by the library.
using Instance = struct InstanceImpl*;
using Adapter = struct AdapterImpl*;
using Device = struct DeviceImpl*;
using Queue = struct QueueImpl*;
using Buffer = struct BufferImpl*;
using BindGroup = struct BindGroupImpl*;
using BindGroupLayout = struct BindGroupLayoutImpl*;
using PipelineLayout = struct PipelineLayoutImpl*;
using ComputePipeline = struct ComputePipelineImpl*;
using ShaderModule = struct ShaderModuleImpl*;
using CommandEncoder = struct CommandEncoderImpl*;
using CommandBuffer = struct CommandBufferImpl*;
using ComputePass = struct ComputePassImpl*;

using Bool = std::uint32_t;
using Flags = std::uint64_t;

struct StringView {
  const char* data = nullptr;
  std::size_t length = ~std::size_t{0};  // all ones: ends at the first zero byte
};

struct Chained {
  const Chained* next = nullptr;
  std::uint32_t type = 0;
};

struct Future {
  std::uint64_t id = 0;
};
struct FutureWaitInfo {
  Future future;
  Bool completed = 0;
};

enum : std::uint32_t {
  type_shader_source_wgsl = 2,
  mode_wait_any_only = 1,
  mode_allow_spontaneous = 3,
  wait_success = 1,
  wait_timed_out = 2,
  status_success = 1,
  filter_validation = 1,
  filter_out_of_memory = 2,
  error_none = 1,
  backend_vulkan = 6,
  adapter_discrete = 1,
  adapter_integrated = 2,
  adapter_cpu = 3,
  power_high_performance = 2,
  level_core = 2,
  binding_uniform = 2,
  binding_storage = 3,
  binding_read_only_storage = 4,
  map_read = 1,
  stage_compute = 4,
  // Features: numbers of the library of mid 2025.
  feature_shader_f16 = 0x0A,
  feature_implicit_synchronization = 0x00050004,
};
enum : Flags {
  usage_map_read = 1,
  usage_copy_src = 4,
  usage_copy_dst = 8,
  usage_uniform = 0x40,
  usage_storage = 0x80,
  usage_indirect = 0x100,
};

/// Mid 2025: features are two members; later a list (see Api).
struct InstanceDescriptor {
  const Chained* next = nullptr;
  struct {
    const Chained* next = nullptr;
    Bool timed_wait_any = 0;
    std::size_t timed_wait_any_max = 0;
  } features;
};

struct RequestAdapterOptions {
  const Chained* next = nullptr;
  std::uint32_t feature_level = level_core;
  std::uint32_t power_preference = power_high_performance;
  Bool force_fallback = 0;
  std::uint32_t backend = backend_vulkan;
  void* surface = nullptr;
};

struct AdapterInfoStruct {
  Chained* next = nullptr;
  StringView vendor, architecture, device, description;
  std::uint32_t backend = 0, type = 0, vendor_id = 0, device_id = 0, subgroup_min = 0,
                subgroup_max = 0;
};

constexpr std::uint32_t undefined32 = 0xffffffffu;
constexpr std::uint64_t undefined64 = ~std::uint64_t{0};

struct Limits {
  Chained* next = nullptr;
  std::uint32_t texture_1d = undefined32, texture_2d = undefined32, texture_3d = undefined32,
                texture_layers = undefined32, bind_groups = undefined32,
                groups_plus_vertex = undefined32, bindings_per_group = undefined32,
                dynamic_uniforms = undefined32, dynamic_storage = undefined32,
                sampled_textures = undefined32, samplers = undefined32,
                storage_buffers = undefined32, storage_textures = undefined32,
                uniform_buffers = undefined32;
  std::uint64_t uniform_binding = undefined64, storage_binding = undefined64;
  std::uint32_t uniform_alignment = undefined32, storage_alignment = undefined32,
                vertex_buffers = undefined32;
  std::uint64_t buffer_size = undefined64;
  std::uint32_t vertex_attributes = undefined32, vertex_stride = undefined32,
                inter_stage = undefined32, color_attachments = undefined32,
                color_bytes = undefined32, workgroup_storage = undefined32,
                invocations = undefined32, workgroup_x = undefined32, workgroup_y = undefined32,
                workgroup_z = undefined32, workgroups = undefined32, immediates = undefined32;
};

template <class Callback>
struct CallbackInfo {
  const Chained* next = nullptr;
  std::uint32_t mode = mode_wait_any_only;
  Callback callback = nullptr;
  void* user1 = nullptr;
  void* user2 = nullptr;
};
using AdapterCallback = void (*)(std::uint32_t, Adapter, StringView, void*, void*);
using DeviceCallback = void (*)(std::uint32_t, Device, StringView, void*, void*);
using LostCallback = void (*)(const Device*, std::uint32_t, StringView, void*, void*);
using ErrorCallback = void (*)(const Device*, std::uint32_t, StringView, void*, void*);
using ScopeCallback = void (*)(std::uint32_t, std::uint32_t, StringView, void*, void*);
using DoneCallback = void (*)(std::uint32_t, StringView, void*, void*);
using PipelineCallback = void (*)(std::uint32_t, ComputePipeline, StringView, void*, void*);

struct ErrorCallbackInfo {
  const Chained* next = nullptr;
  ErrorCallback callback = nullptr;
  void* user1 = nullptr;
  void* user2 = nullptr;
};

struct DeviceDescriptor {
  const Chained* next = nullptr;
  StringView label;
  std::size_t feature_count = 0;
  const std::uint32_t* features = nullptr;
  const Limits* limits = nullptr;
  struct {
    const Chained* next = nullptr;
    StringView label;
  } queue;
  CallbackInfo<LostCallback> lost;
  ErrorCallbackInfo uncaptured;
};

struct BufferDescriptor {
  const Chained* next = nullptr;
  StringView label;
  Flags usage = 0;
  std::uint64_t size = 0;
  Bool mapped_at_creation = 0;
};

struct BindGroupLayoutEntry {
  const Chained* next = nullptr;
  std::uint32_t binding = 0;
  Flags visibility = stage_compute;
  std::uint32_t array_size = 0;
  struct {
    const Chained* next = nullptr;
    std::uint32_t type = 0;
    Bool dynamic_offset = 0;
    std::uint64_t min_size = 0;
  } buffer;
  struct {
    const Chained* next = nullptr;
    std::uint32_t type = 0;
  } sampler;
  struct {
    const Chained* next = nullptr;
    std::uint32_t type = 0, dimension = 0;
    Bool multisampled = 0;
  } texture;
  struct {
    const Chained* next = nullptr;
    std::uint32_t access = 0, format = 0, dimension = 0;
  } storage_texture;
};
struct BindGroupLayoutDescriptor {
  const Chained* next = nullptr;
  StringView label;
  std::size_t entry_count = 0;
  const BindGroupLayoutEntry* entries = nullptr;
};
struct BindGroupEntry {
  const Chained* next = nullptr;
  std::uint32_t binding = 0;
  Buffer buffer = nullptr;
  std::uint64_t offset = 0, size = 0;
  void* sampler = nullptr;
  void* texture_view = nullptr;
};
struct BindGroupDescriptor {
  const Chained* next = nullptr;
  StringView label;
  BindGroupLayout layout = nullptr;
  std::size_t entry_count = 0;
  const BindGroupEntry* entries = nullptr;
};
struct PipelineLayoutDescriptor {
  const Chained* next = nullptr;
  StringView label;
  std::size_t layout_count = 0;
  const BindGroupLayout* layouts = nullptr;
  std::uint32_t immediate_size = 0;
};
struct ShaderSourceWgsl {
  Chained chain{nullptr, type_shader_source_wgsl};
  StringView code;
};
struct ShaderModuleDescriptor {
  const Chained* next = nullptr;
  StringView label;
};
struct ComputePipelineDescriptor {
  const Chained* next = nullptr;
  StringView label;
  PipelineLayout layout = nullptr;
  struct {
    const Chained* next = nullptr;
    ShaderModule module = nullptr;
    StringView entry;
    std::size_t constant_count = 0;
    const void* constants = nullptr;
  } compute;
};
struct LabelDescriptor {  // of encoders and command buffers
  const Chained* next = nullptr;
  StringView label;
};
struct ComputePassDescriptor {
  const Chained* next = nullptr;
  StringView label;
  const void* timestamp_writes = nullptr;
};

}  // namespace tessera::wg
