// SPDX-License-Identifier: MIT OR Apache-2.0
// From a launch request to a command: trace if new, check everything that is known now, queue.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "client/device_core.hpp"
#include "lang/trace.hpp"
#include "passes/prepare.hpp"
#include "server/command_writer.hpp"
#include "server/launch/folding.hpp"
#include "tessera/detail/launch_request.hpp"

namespace tessera::inline v0::detail {
namespace {

using server::Access;
using Bound = LaunchRequest::Bound;

bool writes(const Bound& b) {
  return (static_cast<int>(b.desc.access) & static_cast<int>(Access::out)) != 0;
}

// Units of the cube: as asked for, or 256 in a row, or what the device allows.
std::array<std::uint32_t, 3> units_of(const Dim3& asked, const driver::Properties& device) {
  std::array<std::uint32_t, 3> units{asked.x, asked.y, asked.z};
  if (units[0] == automatic) {
    units[0] = std::min({256u, device.max_units, device.max_cube_dim[0]});
  }
  return units;
}

class Launch {
 public:
  Launch(const Stream& stream, LaunchRequest& request, SourceLoc where)
      : core_(*stream.core()), stream_(stream.id()), request_(request), where_(where) {}

  Status run(void (*body)(void*), void* context) {
    const Dim3& asked =
        request_.dynamic() != nullptr ? request_.dynamic()->units : request_.grid().units;
    units_ = units_of(asked, core_.device());
    if (!core_.is_open()) return core_.closed();
    if (std::optional<Error> bad = check_arguments()) return refuse(*bad);
    const DeviceCore::KnownKernel& known = find_or_trace(body, context);
    if (known.error) return refuse(*known.error);
    if (std::optional<Error> bad = check_grid()) return refuse(*bad);
    push(known.ref);
    return {};
  }

 private:
  Error bad(ErrorKind kind, std::string text) const {
    return Error(kind, std::move(text), where_).with_kernel(std::string(request_.name()));
  }
  Error invalid(std::string text) const { return bad(ErrorKind::InvalidArgument, std::move(text)); }

  // Why the arguments cannot be used, or nothing. Messages count arguments among the buffers.
  std::optional<Error> check_arguments() const {
    if (request_.refused()) return invalid(request_.refusal());
    const auto& bound = request_.bound();
    for (std::size_t i = 0; i < bound.size(); ++i) {
      const Bound& b = bound[i];
      if (b.buffer->invalid) return *b.buffer->invalid;
      if (!b.buffer->allocation) {
        return invalid(fmt::format("Buffer {} of the launch belongs to no device.", i));
      }
      const DeviceCore& owner = *b.buffer->allocation->device;
      if (&owner != &core_) {
        return invalid(
            fmt::format("Buffer {} of the launch belongs to {}, but the launch is on {}.", i,
                        owner.properties().name, core_.properties().name));
      }
      if (b.buffer->bytes % b.element != 0 || b.buffer->offset % b.element != 0) {
        return invalid(
            fmt::format("Buffer {} of the launch has {} bytes at offset {}, which is no "
                        "whole number of elements of {} bytes.",
                        i, b.buffer->bytes, b.buffer->offset, b.element));
      }
      const std::uint32_t alignment = core_.device().offset_alignment;
      if (b.buffer->bytes > 0 && b.buffer->offset % alignment != 0) {
        return invalid(
            fmt::format("Buffer {} of the launch starts at byte {} of its memory: {} "
                        "binds at multiples of {} bytes. Use clone() for such a slice.",
                        i, b.buffer->offset, core_.properties().name, alignment));
      }
      if (b.buffer->bytes > core_.device().binding_limit) {
        return bad(
            ErrorKind::TooLarge,
            fmt::format("Buffer {} of the launch has {} bytes; a kernel on {} can use {}.", i,
                        b.buffer->bytes, core_.properties().name, core_.device().binding_limit));
      }
      if (std::optional<Error> e = b.tensor ? check_view(i) : std::nullopt) return e;
      if (std::optional<Error> e = check_overlap(i)) return e;
    }
    if (bound.size() > core_.device().max_bindings) {
      return invalid(fmt::format("The kernel takes {} buffers; {} allows {}.", bound.size(),
                                 core_.properties().name, core_.device().max_bindings));
    }
    return std::nullopt;
  }

  // Every element that the shape and strides can name lies in the buffer.
  std::optional<Error> check_view(std::size_t i) const {
    const Bound& b = request_.bound()[i];
    const std::uint64_t elements = b.buffer->bytes / b.element;
    std::uint64_t last = 0;
    for (int axis = 0; axis < b.shape.rank(); ++axis) {
      if (b.shape[axis] == 0) return std::nullopt;
    }
    for (int axis = 0; axis < b.shape.rank(); ++axis) {
      last += (b.shape[axis] - 1) * b.strides[axis];
    }
    if (last >= elements) {
      return invalid(
          fmt::format("Tensor {} of the launch reaches element {} of a buffer of {} "
                      "elements.",
                      i, last, elements));
    }
    if (b.shape.rank() == 0) return invalid(fmt::format("Tensor {} has no axes.", i));
    return std::nullopt;
  }

  std::optional<Error> check_overlap(std::size_t i) const {
    const Bound& b = request_.bound()[i];
    for (std::size_t j = 0; j < i; ++j) {
      const Bound& other = request_.bound()[j];
      if (b.buffer->allocation->id != other.buffer->allocation->id) continue;
      const bool overlaps = b.buffer->offset < other.buffer->offset + other.buffer->bytes &&
                            other.buffer->offset < b.buffer->offset + b.buffer->bytes;
      if (!overlaps || (!writes(b) && !writes(other))) continue;
      const bool same =
          b.buffer->offset == other.buffer->offset && b.buffer->bytes == other.buffer->bytes;
      if (b.aliased && same && b.desc.type == other.desc.type &&
          b.desc.atomic == other.desc.atomic) {
        continue;
      }
      return invalid(
          b.aliased
              ? fmt::format("Buffers {} and {} of the launch are aliases but differ in range or "
                            "element type.",
                            j, i)
              : fmt::format("Buffers {} and {} of the launch overlap and one is written. Pass the "
                            "same range as alias(buffer) if the kernel works in place.",
                            j, i));
    }
    return std::nullopt;
  }

  // The cube first: nothing about a kernel is traced for one that no device can run.
  std::optional<Error> check_cube() const {
    const driver::Properties& d = core_.device();
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (units_[axis] == 0 || units_[axis] > d.max_cube_dim[axis]) {
        return invalid(fmt::format("The cube has {} units on axis {}; {} allows 1 to {}.",
                                   units_[axis], "xyz"[axis], core_.properties().name,
                                   d.max_cube_dim[axis]));
      }
    }
    const std::uint64_t total = std::uint64_t{units_[0]} * units_[1] * units_[2];
    if (total > d.max_units) {
      return invalid(fmt::format("The cube has {} units; {} allows {}.", total,
                                 core_.properties().name, d.max_units));
    }
    return std::nullopt;
  }

  std::optional<Error> check_grid() {
    if (const DynamicGrid* dynamic = request_.dynamic()) {
      const BufferRef& count = dynamic->cubes.ref();
      if (count.invalid) return *count.invalid;
      if (!count.allocation) {
        return invalid("The buffer of the dynamic cube count belongs to no device.");
      }
      if (count.allocation->device.get() != &core_) {
        return invalid(fmt::format(
            "The buffer of the dynamic cube count belongs to {}, but the launch is on {}.",
            count.allocation->device->properties().name, core_.properties().name));
      }
      if (count.bytes < 12 || count.offset % core_.device().offset_alignment != 0) {
        return invalid(
            fmt::format("The dynamic cube count needs three u32 at the start of a "
                        "buffer; it has {} bytes at offset {}.",
                        count.bytes, count.offset));
      }
      const Dim3& most = dynamic->at_most;
      cubes_ = {most.x, most.y, most.z};
      if (server::needs_folding(cubes_, core_.device().max_cubes)) {
        return invalid(fmt::format(
            "at_most is ({}, {}, {}), but {} launches at most ({}, {}, {}) "
            "cubes with a dynamic count.",
            most.x, most.y, most.z, core_.properties().name, core_.device().max_cubes[0],
            core_.device().max_cubes[1], core_.device().max_cubes[2]));
      }
      return std::nullopt;
    }
    const Grid& grid = request_.grid();
    std::uint64_t x = grid.cubes.x;
    if (grid.spreads()) x = (grid.elements() + units_[0] - 1) / units_[0];
    if (x > 0xffffffffu) {
      return bad(ErrorKind::TooLarge,
                 fmt::format("{} cubes on the x axis are more than 4294967295.", x));
    }
    cubes_ = {static_cast<std::uint32_t>(x), grid.cubes.y, grid.cubes.z};
    if (grid.spreads()) cubes_ = {static_cast<std::uint32_t>(x), 1, 1};
    if (server::needs_folding(cubes_, core_.device().max_cubes) && !server::cube_total(cubes_)) {
      return bad(ErrorKind::TooLarge,
                 fmt::format("A grid of ({}, {}, {}) cubes is over the device's limit per axis and "
                             "has more than 4294967295 cubes in all.",
                             cubes_[0], cubes_[1], cubes_[2]));
    }
    return std::nullopt;
  }

  const DeviceCore::KnownKernel& find_or_trace(void (*body)(void*), void* context) {
    std::string& key = request_.key;
    append_bytes(key, units_);
    key.push_back(request_.grid().is_unchecked() ? 'u' : 'c');
    if (const DeviceCore::KnownKernel* known = core_.find_kernel(key)) return *known;
    // The body is the user's code: it runs without a lock, and where threads meet here each traces
    // the kernel, but only one has it compiled.
    Result<ir::Kernel> kernel = trace(body, context);
    return core_.remember_kernel(key, [&]() -> DeviceCore::KnownKernel {
      if (!kernel) return {0, kernel.error()};
      const server::KernelRef ref =
          core_.loader().add(std::make_shared<const ir::Kernel>(*std::move(kernel)));
      start_compiling(ref);
      return {ref, std::nullopt};
    });
  }

  Result<ir::Kernel> trace(void (*body)(void*), void* context) const {
    const auto failed = [&](const Error& error) {
      return error.with_context(fmt::format("tracing kernel {} for its launch at {}:{}",
                                            request_.name(), where_.file, where_.line));
    };
    if (std::optional<Error> bad_cube = check_cube()) return *bad_cube;
    lang::TraceInput input;
    input.name = std::string(request_.name());
    input.units = units_;
    input.checked = !request_.grid().is_unchecked();
    for (std::size_t i = 0; i < request_.bound().size(); ++i) {
      const Bound& b = request_.bound()[i];
      ir::BindingParam param;
      param.name = fmt::format("buffer {}", i);
      param.type = b.desc.type;
      param.declared = b.desc.access;
      param.rank = b.tensor ? static_cast<std::uint8_t>(b.shape.rank()) : 0;
      param.atomic = b.desc.atomic;
      input.bindings.push_back(std::move(param));
    }
    for (std::size_t i = 0; i < request_.scalars().size(); ++i) {
      input.scalars.push_back({fmt::format("scalar {}", i), request_.scalars()[i].elem});
    }
    Result<ir::Kernel> kernel = lang::trace(std::move(input), body, context);
    if (!kernel) return failed(kernel.error());
    if (Status s = passes::prepare(*kernel); !s) return failed(s.error());
    std::uint64_t shared = 0;
    for (const ir::SharedBlock& s : kernel->shared) {
      shared += s.count * size_of(s.type.elem) * s.type.lanes;
    }
    if (shared > core_.device().shared_bytes) {
      return failed(bad(ErrorKind::Unsupported,
                        fmt::format("The kernel asks for {} bytes of shared memory; {} has {}.",
                                    shared, core_.properties().name, core_.device().shared_bytes)));
    }
    return kernel;
  }

  // The variant that this launch will ask for, unless something about its buffers is special.
  void start_compiling(server::KernelRef ref) const {
    const server::KernelEntry& entry = core_.loader().entry(ref);
    driver::Variant variant;
    for (std::size_t i = 0; i < entry.kernel->bindings.size(); ++i) {
      const auto access = static_cast<int>(entry.kernel->bindings[i].analysed);
      if ((access & static_cast<int>(Access::out)) != 0 ||
          (core_.device().one_access_per_page && entry.writes_any)) {
        variant.writable |= std::uint64_t{1} << i;
      }
    }
    (void)core_.loader().variant(ref, variant);
  }

  // What should have been written fails with the reason, in the order of the stream.
  Status refuse(const Error& error) const {
    std::vector<server::Binding> outputs;
    for (const Bound& b : request_.bound()) {
      if (!writes(b) || b.buffer->invalid || !b.buffer->allocation) continue;
      // A buffer of another device is none of this device's business: the launch's status tells.
      if (b.buffer->allocation->device.get() != &core_) continue;
      outputs.push_back(binding_of(*b.buffer, Access::out));
    }
    if (!outputs.empty()) {
      server::CommandWriter<server::FailCommand> command(stream_, where_, outputs.size());
      command->error = core_.shared().errors.insert(error);
      command->binding_count = static_cast<std::uint32_t>(outputs.size());
      std::copy(outputs.begin(), outputs.end(), command.bindings());
      core_.executor().push(command.header());
    }
    return error;
  }

  void push(server::KernelRef ref) {
    const server::KernelEntry& entry = core_.loader().entry(ref);
    const auto& bound = request_.bound();
    server::CommandWriter<server::LaunchCommand> command(stream_, where_, bound.size(),
                                                         entry.layout.count);
    command->kernel = ref;
    command->cubes = cubes_;
    command->binding_count = static_cast<std::uint32_t>(bound.size());
    command->parameter_count = entry.layout.count;
    bool wide = false;
    const auto index = [&](std::uint64_t n) {
      wide = wide || n >= 0x80000000u;
      return n;
    };
    std::uint64_t* parameter = command.parameters();
    for (const auto& s : request_.scalars()) *parameter++ = s.bits;
    for (const Bound& b : bound) *parameter++ = index(b.buffer->bytes / b.element);
    for (const Bound& b : bound) {
      if (!b.tensor) continue;
      for (int axis = 0; axis < b.shape.rank(); ++axis) *parameter++ = index(b.shape[axis]);
      for (int axis = 0; axis < b.shape.rank(); ++axis) *parameter++ = index(b.strides[axis]);
    }
    for (std::size_t i = 0; i < bound.size(); ++i) {
      server::Binding& binding = command.bindings()[i];
      binding = binding_of(*bound[i].buffer, bound[i].desc.access);
      if (bound[i].aliased) binding.alias_of = alias_target(i);
    }
    command->wide_index = wide ? 1 : 0;
    std::uint32_t faults = entry.can_fault ? 1 : 0;
    if (const DynamicGrid* dynamic = request_.dynamic()) {
      command->dynamic = 1;
      command->count = binding_of(dynamic->cubes.ref(), Access::in);
      ++faults;
    }
    core_.shared().fault_launches.fetch_add(faults, std::memory_order_relaxed);
    core_.executor().push(command.header());
  }

  std::uint8_t alias_target(std::size_t i) const {
    const Bound& b = request_.bound()[i];
    for (std::size_t j = 0; j < i; ++j) {
      const Bound& other = request_.bound()[j];
      if (other.buffer->allocation->id == b.buffer->allocation->id &&
          other.buffer->offset == b.buffer->offset && other.buffer->bytes == b.buffer->bytes) {
        return static_cast<std::uint8_t>(j);
      }
    }
    return server::Binding::no_alias;
  }

  DeviceCore& core_;
  server::StreamId stream_;
  LaunchRequest& request_;
  SourceLoc where_;
  std::array<std::uint32_t, 3> units_{1, 1, 1};
  std::array<std::uint32_t, 3> cubes_{1, 1, 1};
};

}  // namespace

Status launch_request(const Stream& stream, LaunchRequest& request, void (*body)(void*),
                      void* context, SourceLoc where) {
  return Launch(stream, request, where).run(body, context);
}

}  // namespace tessera::inline v0::detail
