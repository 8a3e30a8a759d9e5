// SPDX-License-Identifier: MIT OR Apache-2.0
// A launch as the library's compiled code takes it. Not for users.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/detail/buffer_ref.hpp"
#include "tessera/grid.hpp"
#include "tessera/lang/signature.hpp"
#include "tessera/tensor.hpp"

namespace tessera::inline v0::detail {

/// Filled argument by argument, in the order of the kernel's parameters.
class LaunchRequest {
 public:
  struct Bound {
    ParamDesc desc;
    const BufferRef* buffer;
    std::uint64_t element;  // bytes of the parameter's element
    bool aliased;
    bool tensor;
    Shape shape, strides;  // of tensors
  };
  struct ScalarArg {
    std::uint64_t bits;
    Elem elem;
  };

  LaunchRequest(const void* identity, std::string_view name, const Grid& grid)
      : name_(name), grid_(grid) {
    append_bytes(key, reinterpret_cast<std::uintptr_t>(identity));
  }
  LaunchRequest(const void* identity, std::string_view name, const DynamicGrid& grid)
      : name_(name), dynamic_(&grid) {
    append_bytes(key, reinterpret_cast<std::uintptr_t>(identity));
  }

  void add_buffer(const ParamDesc& desc, const BufferRef& buffer, std::uint64_t element,
                  bool aliased) {
    bound_.push_back({desc, &buffer, element, aliased, false, {}, {}});
  }
  void add_tensor(const ParamDesc& desc, const BufferRef& buffer, std::uint64_t element,
                  const Shape& shape, const Shape& strides, bool aliased) {
    bound_.push_back({desc, &buffer, element, aliased, true, shape, strides});
    key.push_back(static_cast<char>(shape.rank()));
  }
  void add_scalar(std::uint64_t bits, Elem elem) { scalars_.push_back({bits, elem}); }
  void refuse(std::string message) {
    if (!refusal_) refusal_ = std::move(message);
  }

  const std::string& refusal() const noexcept { return *refusal_; }
  bool refused() const noexcept { return refusal_.has_value(); }
  std::string_view name() const noexcept { return name_; }
  const Grid& grid() const noexcept { return grid_; }
  const DynamicGrid* dynamic() const noexcept { return dynamic_; }
  const std::vector<Bound>& bound() const noexcept { return bound_; }
  const std::vector<ScalarArg>& scalars() const noexcept { return scalars_; }

  /// Identity of the kernel: function, comptime values, ranks. The library adds cube dim and mode.
  std::string key;

 private:
  std::string_view name_;
  Grid grid_;
  const DynamicGrid* dynamic_ = nullptr;
  std::vector<Bound> bound_;
  std::vector<ScalarArg> scalars_;
  std::optional<std::string> refusal_;
};

/// Traces if the kernel is new, checks, queues. The status is that of the checks.
Status launch_request(const Stream& stream, LaunchRequest& request, void (*body)(void*),
                      void* context, SourceLoc where);

/// The argument's value as an element of type T, in the bits of a constant. An integer that T
/// cannot hold refuses the launch.
template <class T, class A>
std::uint64_t scalar_bits(const A& value, LaunchRequest& request) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    if constexpr (std::is_same_v<A, T>) {
      return value.bits();
    } else {
      return T(static_cast<float>(value)).bits();
    }
  } else if constexpr (std::is_same_v<T, Index>) {
    if (value < A(0) || static_cast<std::uint64_t>(value) > 0xffffffffu) {
      request.refuse("An Index argument is negative or over 4294967295.");
    }
    return static_cast<std::uint64_t>(value);
  } else {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      bool fits = true;
      if constexpr (std::is_integral_v<A> && !std::is_same_v<A, bool>) {
        fits = std::in_range<T>(value);
      } else if constexpr (std::is_floating_point_v<A>) {
        fits = value >= static_cast<A>(std::numeric_limits<T>::min()) &&
               value < static_cast<A>(std::numeric_limits<T>::max()) &&
               static_cast<A>(static_cast<T>(value)) == value;
      }
      if (!fits) {
        request.refuse("A number was passed that the kernel's scalar parameter cannot hold: " +
                       std::to_string(value) + ".");
        return 0;
      }
    }
    const T converted = static_cast<T>(value);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &converted, sizeof converted);
    return bits;
  }
}

}  // namespace tessera::inline v0::detail
