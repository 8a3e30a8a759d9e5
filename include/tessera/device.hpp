// SPDX-License-Identifier: MIT OR Apache-2.0
// A device and what it makes.
#pragma once

#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/buffer.hpp"
#include "tessera/dim3.hpp"
#include "tessera/memory.hpp"
#include "tessera/persistent.hpp"
#include "tessera/stream.hpp"
#include "tessera/tensor.hpp"

namespace tessera::inline v0 {

/// A device that devices() found.
struct DeviceInfo {
  std::string spec;    // what open() takes
  std::string driver;  // "webgpu", "cpu"
  std::string name;    // of the adapter
  std::string kind;    // "discrete", "integrated", "virtual", "software", "cpu"
  std::string detail;
  std::string unusable;  // empty: usable; else one sentence that says why not
};

/// What a device is and can hold. Never changes.
struct Properties {
  std::string driver;
  std::string name;
  std::string kind;
  std::string detail;
  std::vector<Elem> elements;      // usable in buffers and arithmetic
  std::uint64_t buffer_limit = 0;  // largest buffer that a kernel can use, bytes
  std::uint64_t capacity = 0;      // bytes of memory; 0 if unknown
  std::uint32_t shared_bytes = 0;  // per cube
  std::uint32_t max_units = 0;     // per cube
  Dim3 max_cube_dim;
  Dim3 max_cubes;  // per launch before folding
  std::uint32_t plane_min = 0, plane_max = 0;
  std::uint32_t alignment = 0;     // of buffers, bytes
  std::uint32_t max_bindings = 0;  // buffers per kernel
  std::uint32_t queues = 0;
};

/// How open() behaves. Environment before these before the configuration file before defaults.
struct Options {
  bool ignore_env = false;        // TESSERA_* variables do not count
  std::uint32_t max_streams = 0;  // queues of the device, 1 to 128; 0: as configured
  // Every thread has a default stream of its own instead of one for the device.
  bool per_thread_streams = false;
};

/// Tag: memory whose bytes are unspecified until written.
struct NoInit {};
inline constexpr NoInit no_init{};

/// A shared handle; every member is thread-safe. Members that enqueue never fail at once: a
/// failure is recorded on what they should have written and surfaces when it is read.
class Device {
 public:
  const Properties& properties() const noexcept;

  /// The stream of calls that name none: a StreamScope's, or this thread's where the device was
  /// opened so, or the device's.
  Stream stream() const;
  /// A stream of its own number.
  Stream new_stream() const;

  /// A buffer of a copy of the elements. Spans and other ranges are copied before the call
  /// returns; an rvalue vector is moved in and read by the device when it comes to it.
  template <std::ranges::contiguous_range R>
    requires(std::ranges::sized_range<R> && Element<std::ranges::range_value_t<R>>)
  Buffer<std::ranges::range_value_t<R>> upload(R&& values,
                                               SourceLoc where = SourceLoc::current()) const {
    using T = std::ranges::range_value_t<R>;
    Buffer<T> buffer(detail::allocate(core_, std::ranges::size(values), sizeof(T), where));
    if constexpr (std::is_same_v<R, std::vector<T>>) {
      auto owner = std::make_shared<std::vector<T>>(std::move(values));
      const std::span<const T> span(*owner);
      detail::write_owned(buffer.ref(), std::as_bytes(span), std::move(owner), where);
    } else {
      buffer.write(std::span<const T>(std::ranges::data(values), std::ranges::size(values)), where);
    }
    return buffer;
  }

  /// n elements that nobody wrote yet.
  template <Element T>
  Buffer<T> alloc(std::uint64_t n, NoInit = no_init, SourceLoc where = SourceLoc::current()) const {
    return Buffer<T>(detail::allocate(core_, n, sizeof(T), where));
  }
  /// n elements of zero bits.
  template <Element T>
  Buffer<T> zeros(std::uint64_t n, SourceLoc where = SourceLoc::current()) const {
    return full<T>(n, T{}, where);
  }
  /// n elements of one value.
  template <Element T>
  Buffer<T> full(std::uint64_t n, const T& value, SourceLoc where = SourceLoc::current()) const {
    Buffer<T> buffer = alloc<T>(n, no_init, where);
    buffer.fill(value, where);
    return buffer;
  }
  /// A tensor of a copy of the elements, row-major. A count other than shape.count() is recorded
  /// as InvalidArgument.
  template <Element T>
  Tensor<T> tensor(Shape shape, std::span<const T> values,
                   SourceLoc where = SourceLoc::current()) const {
    Buffer<T> buffer(detail::allocate(core_, shape.count(), sizeof(T), where));
    detail::write_exactly(buffer.ref(), std::as_bytes(values), where);
    return Tensor<T>(std::move(buffer), shape);
  }
  /// A tensor that nobody wrote yet, its rows padded as the device likes them.
  template <Element T>
  Tensor<T> pitched_tensor(Shape shape, SourceLoc where = SourceLoc::current()) const {
    const Shape strides = pitched(shape, sizeof(T), properties().alignment);
    const std::uint64_t elements = shape.rank() == 0 ? 1 : strides[0] * shape[0];
    return Tensor<T>(alloc<T>(elements, no_init, where), shape, strides);
  }
  /// A tensor that nobody wrote yet.
  template <Element T>
  Tensor<T> tensor(Shape shape, NoInit = no_init, SourceLoc where = SourceLoc::current()) const {
    return Tensor<T>(alloc<T>(shape.count(), no_init, where), shape);
  }

  /// Waits for everything issued on the device before the call; errors as Stream::sync().
  Status sync(Deadline deadline = {}) const;

  /// A number for each queue that was used so far; Streams of these numbers reach each of them.
  std::vector<std::uint64_t> stream_ids() const;

  /// What memory is used for, as of what the device has been given so far.
  MemoryReport memory() const;
  /// Gives memory that holds no buffer back to the device and moves buffers out of pools that an
  /// earlier layout left behind, where they are not pinned. Waits for the work that still uses
  /// what is given back. DeviceLost; Timeout if the deadline passes first.
  Status trim(Deadline deadline = {}) const;
  /// Buffers made from here on come from these pools. InvalidArgument, with the position and the
  /// values, where the device cannot have them: then nothing changes.
  Status install(const MemoryLayout& layout) const;
  /// Until the scope ends, buffers made on the default stream are meant to stay: they come from
  /// memory apart, of their exact sizes, and break up nothing. Scopes nest.
  PersistentScope persistent() const;

  // For the library.
  explicit Device(std::shared_ptr<detail::DeviceCore> core) noexcept : core_(std::move(core)) {}
  const std::shared_ptr<detail::DeviceCore>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<detail::DeviceCore> core_;
};

/// Every device that this machine has, best first; never fails. An unusable one says why.
std::vector<DeviceInfo> devices();

/// Opens a device: "auto" (the best one; never a simulator), "gpu", "webgpu", "webgpu:1",
/// "webgpu:name=NVIDIA", "cpu", "sim", "sim:seed=7". The same device opened twice is shared, except
/// simulators. Errors: InvalidArgument (a malformed or unknown spec, with what exists),
/// BackendUnavailable (the library, driver or adapter is missing, with what was tried).
Result<Device> open(std::string_view spec = "auto", const Options& options = {});

}  // namespace tessera::inline v0
