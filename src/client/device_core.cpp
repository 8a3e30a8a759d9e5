// SPDX-License-Identifier: MIT OR Apache-2.0
#include "client/device_core.hpp"

#include <fmt/format.h>

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

DeviceCore::Parts::Parts(std::unique_ptr<driver::Driver> device, const CoreConfig& config)
    : driver(std::move(device)),
      loader(*driver, config.compile_threads, [this] { executor.wake(); }),
      executor(*driver, loader, shared, config.server, config.executor) {}

constinit static std::atomic<std::uint64_t> next_number{1};

DeviceCore::DeviceCore(std::unique_ptr<driver::Driver> driver, const CoreConfig& config)
    : parts_(std::make_unique<Parts>(std::move(driver), config)),
      properties_(public_properties(parts_->driver->properties(), config)),
      per_thread_streams_(config.per_thread_streams),
      number_(next_number.fetch_add(1)) {}

DeviceCore::~DeviceCore() {
  if (!is_ours()) {
    leave(parts_.release());
    return;
  }
  parts_->loader.stop();
  parts_->executor.wake();
  parts_->executor.stop();
}

// Parts of another process are forgotten but stay reachable: they are no leak.
void DeviceCore::leave(Parts* parts) noexcept {
  static constinit std::atomic<Parts*> left{nullptr};
  parts->next_left = left.load(std::memory_order_relaxed);
  while (!left.compare_exchange_weak(parts->next_left, parts)) {
  }
}

Error DeviceCore::closed() const {
  return Error(ErrorKind::DeviceLost,
               is_ours() ? "The device has been closed: the process is ending."
                         : "The device has been closed: it was opened before this process was "
                           "forked. A child process must open a device of its own.");
}

void DeviceCore::begin_close(server::Executor::Time latest) {
  parts_->executor.abandon(latest);
  parts_->loader.request_stop();
}

bool DeviceCore::finish_close(server::Executor::Time latest) {
  const bool compilers = parts_->loader.join_until(latest);
  return parts_->executor.join_until(latest) && compilers;
}

const DeviceCore::KnownKernel* DeviceCore::find_kernel(std::string_view key) {
  const std::lock_guard lock(parts_->kernels_mutex);
  const auto it = parts_->kernels.find(std::string(key));
  return it == parts_->kernels.end() ? nullptr : it->second.get();
}

const DeviceCore::KnownKernel& DeviceCore::remember_kernel(
    std::string key, const std::function<KnownKernel()>& make) {
  const std::lock_guard lock(parts_->kernels_mutex);
  auto& place = parts_->kernels[std::move(key)];
  if (!place) place = std::make_unique<KnownKernel>(make());
  return *place;
}

void AllocationPtr::retain() const noexcept {
  if (node_ != nullptr) node_->references.fetch_add(1, std::memory_order_relaxed);
}

AllocationNode* new_node(DeviceCore& core) {
  if (!core.is_open()) return new AllocationNode;
  auto* spare = static_cast<AllocationNode*>(core.shared().releases.take_spare());
  if (spare == nullptr) return new AllocationNode;
  spare->references.store(1, std::memory_order_relaxed);
  return spare;
}

void AllocationPtr::drop() noexcept {
  if (node_ == nullptr || node_->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // The device outlives the push, also where this was the last thing that kept it.
  const std::shared_ptr<DeviceCore> device = std::move(node_->device);
  if (!device->is_open()) {
    delete node_;  // known to nobody else: only a drop hands it to the server
    return;
  }
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

std::optional<Error> check_stream(const BufferRef& buffer, const Stream* stream, SourceLoc where) {
  if (stream == nullptr || stream->core() == buffer.allocation->device) return std::nullopt;
  return Error(
      ErrorKind::InvalidArgument,
      fmt::format("The buffer belongs to {}, but the stream to {}.",
                  buffer.allocation->device->properties().name, stream->core()->properties().name),
      where);
}

void fail(DeviceCore& core, const BufferRef& buffer, const Error& error, server::StreamId stream,
          SourceLoc where) {
  if (!core.is_open()) return;
  server::CommandWriter<server::FailCommand> command(stream, where, 1);
  command->error = core.shared().errors.insert(error);
  command->binding_count = 1;
  command.bindings()[0] = binding_of(buffer, server::Access::out);
  core.executor().push(command.header());
}

}  // namespace tessera::inline v0::detail
