// SPDX-License-Identifier: MIT OR Apache-2.0
// Device, properties, pages, health.
#include "driver/webgpu/webgpu_driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tessera::driver {
namespace {

constexpr std::uint32_t fault_slot_count = 1024;
// Room for more launches than the server keeps in flight.
constexpr std::uint64_t uniform_ring_bytes = 16u << 20;

struct DeviceAnswer {
  wg::Device device = nullptr;
  std::string message;
};

void take_device(std::uint32_t status, wg::Device device, wg::StringView message, void* user,
                 void*) {
  auto* answer = static_cast<DeviceAnswer*>(user);
  if (status == wg::status_success) answer->device = device;
  answer->message = wg::text(message);
}

struct ScopeAnswer {
  std::uint32_t type = wg::error_none;
  std::string message;
};

void take_scope(std::uint32_t status, std::uint32_t type, wg::StringView message, void* user,
                void*) {
  auto* answer = static_cast<ScopeAnswer*>(user);
  if (status == wg::status_success) answer->type = type;
  answer->message = wg::text(message);
}

}  // namespace

Result<std::unique_ptr<Driver>> open_webgpu(const WebgpuOptions& options,
                                            const AdapterInfo& adapter) {
  if (Status usable = usable_in_this_process(); !usable) return usable.error();
  Result<const wg::Api*> api = wg::open_api(options.library);
  if (!api) return api.error();
  return WebgpuDriver::open(**api, adapter);
}

Result<std::unique_ptr<Driver>> WebgpuDriver::open(const wg::Api& api, const AdapterInfo& info) {
  Result<OpenAdapter> adapter = request_adapter(api, info.manifest);
  if (!adapter) return adapter.error();
  std::unique_ptr<WebgpuDriver> driver(new WebgpuDriver(api));
  Status created = driver->create_device(adapter->instance, adapter->adapter, info);
  api.AdapterRelease(adapter->adapter);
  guard_exit();
  if (!created) return created.error();
  return std::unique_ptr<Driver>(std::move(driver));
}

Status WebgpuDriver::create_device(wg::Instance instance, wg::Adapter adapter,
                                   const AdapterInfo& info) {
  instance_ = instance;
  wg::Limits limits;
  api_.AdapterGetLimits(adapter, &limits);
  limits.next = nullptr;
  std::vector<std::uint32_t> features;
  for (const std::uint32_t f : {std::uint32_t{wg::feature_shader_f16},
                                std::uint32_t{wg::feature_implicit_synchronization}}) {
    if (api_.AdapterHasFeature(adapter, f) != 0) features.push_back(f);
  }
  wg::DeviceDescriptor descriptor;
  descriptor.feature_count = features.size();
  descriptor.features = features.data();
  descriptor.limits = &limits;
  descriptor.lost.mode = wg::mode_allow_spontaneous;
  descriptor.lost.user1 = this;
  descriptor.lost.callback = [](const wg::Device*, std::uint32_t, wg::StringView message,
                                void* self, void*) {
    auto* me = static_cast<WebgpuDriver*>(self);
    {
      const std::lock_guard lock(me->state_);
      if (me->stopping_ || me->lost_) return;
      me->lost_ = Error(ErrorKind::DeviceLost,
                        fmt::format("{} was lost: {}", me->properties_.name, wg::text(message)));
    }
    me->wake_waiters();
  };
  descriptor.uncaptured.user1 = this;
  descriptor.uncaptured.callback = [](const wg::Device*, std::uint32_t, wg::StringView message,
                                      void* self, void*) {
    auto* me = static_cast<WebgpuDriver*>(self);
    const std::lock_guard lock(me->state_);
    if (!me->uncaptured_) me->uncaptured_ = wg::text(message);
  };
  DeviceAnswer answer;
  wg::FutureWaitInfo wait{
      api_.AdapterRequestDevice(adapter, &descriptor,
                                {nullptr, wg::mode_wait_any_only, take_device, &answer, nullptr}),
      0};
  api_.InstanceWaitAny(instance_, 1, &wait, 30'000'000'000ull);
  if (answer.device == nullptr) {
    return Error(ErrorKind::BackendUnavailable,
                 fmt::format("{} gave no device: {}", info.name, answer.message));
  }
  device_ = answer.device;
  queue_ = api_.DeviceGetQueue(device_);
  synchronized_ = api_.DeviceHasFeature(device_, wg::feature_implicit_synchronization) != 0;
  f16_ = api_.DeviceHasFeature(device_, wg::feature_shader_f16) != 0;

  wg::Limits have;
  api_.DeviceGetLimits(device_, &have);
  Properties& p = properties_;
  p.driver = "webgpu";
  p.name = info.name;
  p.kind = info.kind;
  p.detail = info.detail;
  p.fingerprint = fmt::format("webgpu:{:x}:{:x}:{}", info.vendor, info.device, info.detail);
  p.elements = {Elem::i32, Elem::u32, Elem::f32};
  if (f16_) p.elements.push_back(Elem::f16);
  p.queues = 1;
  p.page_limit = std::min(have.buffer_size, have.storage_binding) & ~std::uint64_t{255};
  p.binding_limit = have.storage_binding;
  p.offset_alignment = std::max({have.uniform_alignment, have.storage_alignment, 256u});
  // Less one for the fault words and one for kernels of the library itself.
  p.max_bindings = std::max(have.storage_buffers, 3u) - 2;
  p.shared_bytes = have.workgroup_storage;
  p.max_units = have.invocations;
  p.max_cube_dim = {have.workgroup_x, have.workgroup_y, have.workgroup_z};
  p.max_cubes = {have.workgroups, have.workgroups, have.workgroups};
  p.plane_min = p.plane_max = 1;
  p.fault_slots = fault_slot_count;
  p.one_access_per_page = true;

  uniform_align_ = have.uniform_alignment;
  uniform_bytes_ = uniform_ring_bytes;
  uniform_shadow_.resize(uniform_bytes_);
  Result<wg::Buffer> uniform =
      create_buffer(wg::usage_uniform | wg::usage_copy_dst, uniform_bytes_);
  if (!uniform) return uniform.error();
  uniform_ = *uniform;
  Result<wg::Buffer> faults = create_buffer(
      wg::usage_storage | wg::usage_copy_src | wg::usage_copy_dst, fault_slot_count * 16);
  if (!faults) return faults.error();
  faults_ = *faults;
  fault_words_.resize(fault_slot_count);
  Result<wg::Buffer> nothing =
      create_buffer(wg::usage_storage, std::uint64_t{p.max_bindings} * p.offset_alignment);
  if (!nothing) return nothing.error();
  nothing_ = *nothing;
  if (Status s = make_edges(); !s) return s;
  watcher_ = std::thread([this] { watch(); });
  return {};
}

WebgpuDriver::~WebgpuDriver() {
  {
    const std::lock_guard lock(state_);
    stopping_ = true;
  }
  segments_changed_.notify_all();
  if (watcher_.joinable()) watcher_.join();
  end_pass();
  if (encoder_ != nullptr) api_.CommandEncoderRelease(encoder_);
  drop_bind_groups();
  for (const Kernel& k : {edges_.write, edges_.copy, edges_.fill}) {
    if (k.pipeline != nullptr) api_.ComputePipelineRelease(k.pipeline);
    if (k.layout != nullptr) api_.BindGroupLayoutRelease(k.layout);
  }
  for (const Kernel& k : kernels_) {
    if (k.pipeline != nullptr) api_.ComputePipelineRelease(k.pipeline);
    if (k.layout != nullptr) api_.BindGroupLayoutRelease(k.layout);
  }
  for (const auto& [id, read] : reads_) api_.BufferRelease(read.staging.buffer);
  for (const auto& [size, list] : mappables_) {
    for (const wg::Buffer b : list) api_.BufferRelease(b);
  }
  for (const Page& p : pages_) {
    if (p.buffer != nullptr) api_.BufferRelease(p.buffer);
  }
  for (const wg::Buffer b : {uniform_, faults_, nothing_}) {
    if (b != nullptr) api_.BufferRelease(b);
  }
  if (queue_ != nullptr) api_.QueueRelease(queue_);
  if (device_ != nullptr) api_.DeviceRelease(device_);
}

std::unique_lock<std::mutex> WebgpuDriver::guard() const {
  return synchronized_ ? std::unique_lock<std::mutex>() : std::unique_lock<std::mutex>(calls_);
}

Status WebgpuDriver::alive() const {
  const std::lock_guard lock(state_);
  return lost_ ? Status(*lost_) : Status();
}

void WebgpuDriver::lose() {
  const auto calls = guard();
  api_.DeviceDestroy(device_);
}

std::optional<Error> WebgpuDriver::lost() const {
  const std::lock_guard lock(state_);
  return lost_;
}

// The message of the innermost error scope, or nothing. The answer does not depend on the device's
// progress, so it is there at once.
std::optional<std::string> WebgpuDriver::pop_scope() {
  ScopeAnswer answer;
  wg::FutureWaitInfo wait{api_.DevicePopErrorScope(device_, {nullptr, wg::mode_wait_any_only,
                                                             take_scope, &answer, nullptr}),
                          0};
  api_.InstanceWaitAny(instance_, 1, &wait, 5'000'000'000ull);
  if (answer.type == wg::error_none) return std::nullopt;
  return answer.message;
}

Result<wg::Buffer> WebgpuDriver::create_buffer(wg::Flags usage, std::uint64_t bytes) {
  const std::lock_guard scopes(scopes_);
  const auto calls = guard();
  api_.DevicePushErrorScope(device_, wg::filter_validation);
  api_.DevicePushErrorScope(device_, wg::filter_out_of_memory);
  wg::BufferDescriptor descriptor;
  descriptor.usage = usage;
  descriptor.size = bytes;
  const wg::Buffer buffer = api_.DeviceCreateBuffer(device_, &descriptor);
  const std::optional<std::string> memory = pop_scope();
  const std::optional<std::string> invalid = pop_scope();
  if (!memory && !invalid && buffer != nullptr) return buffer;
  if (buffer != nullptr) api_.BufferRelease(buffer);
  return Error(invalid && !memory ? ErrorKind::TooLarge : ErrorKind::OutOfMemory,
               fmt::format("{} could not provide a page of {} bytes: {}", properties_.name, bytes,
                           memory    ? *memory
                           : invalid ? *invalid
                                     : "no reason given"));
}

Result<PageId> WebgpuDriver::allocate(PageKind kind, std::uint64_t bytes) {
  if (Status s = alive(); !s) return s.error();
  const std::uint64_t size = (bytes + 3) & ~std::uint64_t{3};
  if (size > properties_.page_limit) {
    return Error(ErrorKind::TooLarge,
                 fmt::format("A page of {} bytes is over the {} bytes that {} allows.", bytes,
                             properties_.page_limit, properties_.name));
  }
  wg::Flags usage = wg::usage_storage | wg::usage_copy_src | wg::usage_copy_dst;
  if (kind == PageKind::counts) usage |= wg::usage_indirect;
  Result<wg::Buffer> buffer = create_buffer(usage, size);
  if (!buffer) return buffer.error();
  if (free_pages_.empty()) {
    pages_.push_back({*buffer, size});
    return static_cast<PageId>(pages_.size() - 1);
  }
  const PageId id = free_pages_.back();
  free_pages_.pop_back();
  pages_[id] = {*buffer, size};
  return id;
}

std::uint64_t WebgpuDriver::native(PageId id) const {
  return reinterpret_cast<std::uintptr_t>(pages_[id].buffer);
}

void WebgpuDriver::free(PageId id) {
  const auto calls = guard();
  drop_bind_groups();
  api_.BufferRelease(pages_[id].buffer);
  pages_[id] = {};
  free_pages_.push_back(id);
}

}  // namespace tessera::driver
