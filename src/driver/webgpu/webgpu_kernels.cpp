// SPDX-License-Identifier: MIT OR Apache-2.0
// From a kernel to a pipeline. Runs on compile threads.
#include <fmt/format.h>

#include "driver/webgpu/webgpu_driver.hpp"
#include "emit/wgsl.hpp"
#include "emit/wgsl_statements.hpp"

namespace tessera::driver {
namespace {

struct PipelineAnswer {
  wg::ComputePipeline pipeline = nullptr;
  std::string message;
};

void take_pipeline(std::uint32_t status, wg::ComputePipeline pipeline, wg::StringView message,
                   void* user, void*) {
  auto* answer = static_cast<PipelineAnswer*>(user);
  if (status == wg::status_success) answer->pipeline = pipeline;
  answer->message = wg::text(message);
}

wg::BindGroupLayoutEntry entry(std::uint32_t binding, std::uint32_t type, bool dynamic = false) {
  wg::BindGroupLayoutEntry e;
  e.binding = binding;
  e.buffer.type = type;
  e.buffer.dynamic_offset = dynamic ? 1 : 0;
  return e;
}

}  // namespace

Result<Image> WebgpuDriver::compile(std::shared_ptr<const ir::Kernel> kernel,
                                    const Variant& variant) const {
  emit::WgslOptions options;
  options.variant = variant;
  options.f16 = f16_;
  Result<std::string> code = emit::wgsl(*kernel, options);
  if (!code) return code.error();
  return Image{"main", *std::move(code), "wgsl", std::move(kernel), variant};
}

Result<KernelId> WebgpuDriver::load(const Image& image) {
  if (Status s = alive(); !s) return s.error();
  const ir::Kernel& k = *image.kernel;
  std::vector<wg::BindGroupLayoutEntry> entries;
  const auto n = static_cast<std::uint32_t>(k.bindings.size());
  for (std::uint32_t i = 0; i < n; ++i) {
    if (emit::storage_of(image.variant, i) != i) continue;
    bool writable = k.bindings[i].atomic;
    for (std::uint32_t j = 0; j < n; ++j) {
      writable = writable || (emit::storage_of(image.variant, j) == i &&
                              ((image.variant.writable >> j) & 1) != 0);
    }
    entries.push_back(entry(i, writable ? wg::binding_storage : wg::binding_read_only_storage));
  }
  entries.push_back(entry(n, wg::binding_uniform, true));
  if (ir::can_fault(k)) entries.push_back(entry(n + 1, wg::binding_storage));
  Result<Kernel> built = build(image.code, image.kernel, image.variant, std::move(entries), k.name);
  if (!built) return built.error();
  const std::lock_guard lock(kernels_mutex_);
  kernels_.push_back(*std::move(built));
  return static_cast<KernelId>(kernels_.size() - 1);
}

Result<WebgpuDriver::Kernel> WebgpuDriver::build(const std::string& code,
                                                 std::shared_ptr<const ir::Kernel> ir,
                                                 const Variant& variant,
                                                 std::vector<wg::BindGroupLayoutEntry> entries,
                                                 const std::string& name) {
  Kernel kernel;
  kernel.variant = variant;
  kernel.can_fault = ir != nullptr && ir::can_fault(*ir);
  kernel.ir = std::move(ir);
  PipelineAnswer answer;
  std::optional<std::string> problem;
  wg::FutureWaitInfo wait;
  {
    const std::lock_guard scopes(scopes_);
    const auto calls = guard();
    api_.DevicePushErrorScope(device_, wg::filter_validation);
    wg::BindGroupLayoutDescriptor layout;
    layout.entry_count = entries.size();
    layout.entries = entries.data();
    kernel.layout = api_.DeviceCreateBindGroupLayout(device_, &layout);
    wg::PipelineLayoutDescriptor pipeline_layout;
    pipeline_layout.layout_count = 1;
    pipeline_layout.layouts = &kernel.layout;
    const wg::PipelineLayout pl = api_.DeviceCreatePipelineLayout(device_, &pipeline_layout);
    wg::ShaderSourceWgsl source;
    source.code = {code.data(), code.size()};
    wg::ShaderModuleDescriptor module_descriptor;
    module_descriptor.next = &source.chain;
    module_descriptor.label = {name.data(), name.size()};
    const wg::ShaderModule module = api_.DeviceCreateShaderModule(device_, &module_descriptor);
    problem = pop_scope();
    if (!problem) {
      wg::ComputePipelineDescriptor descriptor;
      descriptor.label = module_descriptor.label;
      descriptor.layout = pl;
      descriptor.compute.module = module;
      descriptor.compute.entry = {"main", 4};
      wait.future = api_.DeviceCreateComputePipelineAsync(
          device_, &descriptor, {nullptr, wg::mode_wait_any_only, take_pipeline, &answer, nullptr});
    }
    api_.ShaderModuleRelease(module);
    api_.PipelineLayoutRelease(pl);
  }
  if (!problem) {
    // Compiling can take long; nobody else is held up by the wait.
    InFlight::begin();
    while (wait.completed == 0) {
      const auto calls = guard();
      if (api_.InstanceWaitAny(instance_, 1, &wait, synchronized_ ? 100'000'000ull : 0) >
          wg::wait_timed_out) {
        break;
      }
    }
    InFlight::end();
    if (answer.pipeline == nullptr) problem = answer.message;
  }
  if (problem) {
    const auto calls = guard();
    api_.BindGroupLayoutRelease(kernel.layout);
    return Error(ErrorKind::CompileFailed,
                 fmt::format("{} does not accept kernel {}: {}\nIts source:\n{}", properties_.name,
                             name, *problem, code));
  }
  kernel.pipeline = answer.pipeline;
  return kernel;
}

void WebgpuDriver::unload(KernelId id) {
  const std::lock_guard lock(kernels_mutex_);
  const auto calls = guard();
  api_.ComputePipelineRelease(kernels_[id].pipeline);
  api_.BindGroupLayoutRelease(kernels_[id].layout);
  kernels_[id] = {};
}

}  // namespace tessera::driver
