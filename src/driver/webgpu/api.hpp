// SPDX-License-Identifier: MIT OR Apache-2.0
// The library, opened at run time, as a table of functions.
#pragma once

#include <string>

#include "driver/webgpu/abi.hpp"
#include "tessera/result.hpp"

namespace tessera::wg {

// name of the C function after "wgpu", result, parameters
#define TESSERA_WEBGPU_FUNCTIONS(F)                                                                \
  F(CreateInstance, Instance, (const InstanceDescriptor*))                                         \
  F(InstanceRequestAdapter, Future,                                                                \
    (Instance, const RequestAdapterOptions*, CallbackInfo<AdapterCallback>))                       \
  F(InstanceWaitAny, std::uint32_t, (Instance, std::size_t, FutureWaitInfo*, std::uint64_t))       \
  F(InstanceProcessEvents, void, (Instance))                                                       \
  F(InstanceRelease, void, (Instance))                                                             \
  F(AdapterGetInfo, std::uint32_t, (Adapter, AdapterInfoStruct*))                                  \
  F(AdapterInfoFreeMembers, void, (AdapterInfoStruct))                                             \
  F(AdapterGetLimits, std::uint32_t, (Adapter, Limits*))                                           \
  F(AdapterHasFeature, Bool, (Adapter, std::uint32_t))                                             \
  F(AdapterRequestDevice, Future,                                                                  \
    (Adapter, const DeviceDescriptor*, CallbackInfo<DeviceCallback>))                              \
  F(AdapterRelease, void, (Adapter))                                                               \
  F(DeviceGetQueue, Queue, (Device))                                                               \
  F(DeviceGetLimits, std::uint32_t, (Device, Limits*))                                             \
  F(DeviceHasFeature, Bool, (Device, std::uint32_t))                                               \
  F(DeviceCreateBuffer, Buffer, (Device, const BufferDescriptor*))                                 \
  F(DeviceCreateBindGroupLayout, BindGroupLayout, (Device, const BindGroupLayoutDescriptor*))      \
  F(DeviceCreateBindGroup, BindGroup, (Device, const BindGroupDescriptor*))                        \
  F(DeviceCreatePipelineLayout, PipelineLayout, (Device, const PipelineLayoutDescriptor*))         \
  F(DeviceCreateShaderModule, ShaderModule, (Device, const ShaderModuleDescriptor*))               \
  F(DeviceCreateComputePipelineAsync, Future,                                                      \
    (Device, const ComputePipelineDescriptor*, CallbackInfo<PipelineCallback>))                    \
  F(DeviceCreateCommandEncoder, CommandEncoder, (Device, const LabelDescriptor*))                  \
  F(DevicePushErrorScope, void, (Device, std::uint32_t))                                           \
  F(DevicePopErrorScope, Future, (Device, CallbackInfo<ScopeCallback>))                            \
  F(DeviceDestroy, void, (Device))                                                                 \
  F(DeviceRelease, void, (Device))                                                                 \
  F(QueueSubmit, void, (Queue, std::size_t, const CommandBuffer*))                                 \
  F(QueueWriteBuffer, void, (Queue, Buffer, std::uint64_t, const void*, std::size_t))              \
  F(QueueOnSubmittedWorkDone, Future, (Queue, CallbackInfo<DoneCallback>))                         \
  F(QueueRelease, void, (Queue))                                                                   \
  F(BufferMapAsync, Future, (Buffer, Flags, std::size_t, std::size_t, CallbackInfo<DoneCallback>)) \
  F(BufferGetConstMappedRange, const void*, (Buffer, std::size_t, std::size_t))                    \
  F(BufferUnmap, void, (Buffer))                                                                   \
  F(BufferRelease, void, (Buffer))                                                                 \
  F(CommandEncoderBeginComputePass, ComputePass, (CommandEncoder, const ComputePassDescriptor*))   \
  F(CommandEncoderCopyBufferToBuffer, void,                                                        \
    (CommandEncoder, Buffer, std::uint64_t, Buffer, std::uint64_t, std::uint64_t))                 \
  F(CommandEncoderClearBuffer, void, (CommandEncoder, Buffer, std::uint64_t, std::uint64_t))       \
  F(CommandEncoderWriteBuffer, void,                                                               \
    (CommandEncoder, Buffer, std::uint64_t, const std::uint8_t*, std::uint64_t))                   \
  F(CommandEncoderFinish, CommandBuffer, (CommandEncoder, const LabelDescriptor*))                 \
  F(CommandEncoderRelease, void, (CommandEncoder))                                                 \
  F(CommandBufferRelease, void, (CommandBuffer))                                                   \
  F(ComputePassEncoderSetPipeline, void, (ComputePass, ComputePipeline))                           \
  F(ComputePassEncoderSetBindGroup, void,                                                          \
    (ComputePass, std::uint32_t, BindGroup, std::size_t, const std::uint32_t*))                    \
  F(ComputePassEncoderDispatchWorkgroups, void,                                                    \
    (ComputePass, std::uint32_t, std::uint32_t, std::uint32_t))                                    \
  F(ComputePassEncoderDispatchWorkgroupsIndirect, void, (ComputePass, Buffer, std::uint64_t))      \
  F(ComputePassEncoderEnd, void, (ComputePass))                                                    \
  F(ComputePassEncoderRelease, void, (ComputePass))                                                \
  F(BindGroupRelease, void, (BindGroup))                                                           \
  F(BindGroupLayoutRelease, void, (BindGroupLayout))                                               \
  F(PipelineLayoutRelease, void, (PipelineLayout))                                                 \
  F(ComputePipelineRelease, void, (ComputePipeline))                                               \
  F(ShaderModuleRelease, void, (ShaderModule))

struct Api {
#define TESSERA_MEMBER(name, result, parameters) result(*name) parameters = nullptr;
  TESSERA_WEBGPU_FUNCTIONS(TESSERA_MEMBER)
#undef TESSERA_MEMBER
  std::string path;  // of the library
};

/// Opens the library once for the process: `path` if given, else .deps/webgpu beside the program or
/// in a folder above it, else by name on the loader's path. BackendUnavailable says what was tried.
/// It is opened with local scope, since it exports thousands of symbols of its own, and never
/// closed. Thread-safe.
Result<const Api*> open_api(const std::string& path);

/// A folder named .deps beside the program's file or in a folder above it; empty if there is none.
std::string find_deps();

/// Text of a string of the library.
std::string text(StringView view);

}  // namespace tessera::wg
