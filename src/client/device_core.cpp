// SPDX-License-Identifier: MIT OR Apache-2.0
#include "client/device_core.hpp"

#include "server/command_writer.hpp"

namespace tessera::inline v0::detail {
namespace {

Dim3 to_dim3(const std::array<std::uint32_t, 3>& a) {
  return {a[0], a[1], a[2]};
}

Properties public_properties(const driver::Properties& p, const CoreConfig& config) {
  Properties out;
  out.driver = p.driver;
  out.name = p.name;
  out.kind = driver::to_string(p.kind);
  out.detail = p.detail;
  out.elements = p.elements;
  out.buffer_limit = std::min(p.binding_limit, p.page_limit);
  out.capacity = p.capacity;
  out.shared_bytes = p.shared_bytes;
  out.max_units = p.max_units;
  out.max_cube_dim = to_dim3(p.max_cube_dim);
  out.max_cubes = to_dim3(p.max_cubes);
  out.plane_min = p.plane_min;
  out.plane_max = p.plane_max;
  out.alignment = p.offset_alignment;
  out.max_bindings = p.max_bindings;
  out.queues = std::min(p.queues, config.server.max_streams);
  return out;
}

}  // namespace

DeviceCore::DeviceCore(std::unique_ptr<driver::Driver> driver, const CoreConfig& config)
    : driver_(std::move(driver)),
      properties_(public_properties(driver_->properties(), config)),
      loader_(*driver_, config.compile_threads, [this] { executor_.wake(); }),
      executor_(*driver_, loader_, shared_, config.server, config.executor) {}

DeviceCore::~DeviceCore() {
  close();
}

void DeviceCore::close() {
  loader_.stop();
  executor_.wake();
  executor_.stop();
}

const DeviceCore::KnownKernel* DeviceCore::find_kernel(std::string_view key) {
  const std::lock_guard lock(kernels_mutex_);
  const auto it = kernels_.find(std::string(key));
  return it == kernels_.end() ? nullptr : it->second.get();
}

const DeviceCore::KnownKernel& DeviceCore::remember_kernel(std::string key, KnownKernel kernel) {
  const std::lock_guard lock(kernels_mutex_);
  auto& place = kernels_[std::move(key)];
  if (!place) place = std::make_unique<KnownKernel>(std::move(kernel));
  return *place;
}

void AllocationPtr::retain() const noexcept {
  if (node_ != nullptr) node_->references.fetch_add(1, std::memory_order_relaxed);
}

void AllocationPtr::drop() noexcept {
  if (node_ == nullptr || node_->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // The device outlives the push, also where this was the last thing that kept it.
  const std::shared_ptr<DeviceCore> device = std::move(node_->device);
  device->shared().releases.push(node_, device->executor().positions());
}

server::Binding binding_of(const BufferRef& buffer, server::Access access) {
  server::Binding b;
  b.allocation = buffer.allocation->id;
  b.offset = buffer.offset;
  b.bytes = buffer.bytes;
  b.access = access;
  return b;
}

void fail(DeviceCore& core, const BufferRef& buffer, const Error& error, server::StreamId stream,
          SourceLoc where) {
  server::CommandWriter<server::FailCommand> command(stream, where, 1);
  command->error = core.shared().errors.insert(error);
  command->binding_count = 1;
  command.bindings()[0] = binding_of(buffer, server::Access::out);
  core.executor().push(command.header());
}

}  // namespace tessera::inline v0::detail
