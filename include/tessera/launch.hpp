// SPDX-License-Identifier: MIT OR Apache-2.0
// Launching kernels: launch<kernel>(stream, grid, arguments …).
//
// Count, kinds and element types of the arguments are checked when the call is compiled; lengths,
// alignment, devices and overlap when it is made. The first launch of a (function, comptime values,
// cube dim, ranks) traces the kernel on the calling thread; compiling happens elsewhere.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tessera/buffer.hpp"
#include "tessera/detail/launch_request.hpp"
#include "tessera/device.hpp"
#include "tessera/grid.hpp"
#include "tessera/lang/signature.hpp"
#include "tessera/tensor.hpp"

namespace tessera::inline v0 {

/// What a launch returns: an ordinary object that may be ignored. A failure is recorded on the
/// kernel's outputs and surfaces when they are read.
class Launched {
 public:
  explicit Launched(Status status) : status_(std::move(status)) {}
  /// Why the launch was refused before it was queued, if it was; no verdict on how it ran.
  const Status& status() const noexcept { return status_; }

 private:
  Status status_;
};

/// Marks an argument that is meant to be the same memory as an earlier one, for kernels that work
/// in place: the same whole range, and the same element type in both parameters.
template <class B>
struct Alias {
  B buffer;
};
template <class B>
Alias<B> alias(B buffer) {
  return {std::move(buffer)};
}

namespace detail {

template <class A>
struct Unwrapped {
  using type = A;
  static constexpr bool aliased = false;
};
template <class B>
struct Unwrapped<Alias<B>> {
  using type = B;
  static constexpr bool aliased = true;
};

template <class A>
struct BufferElement {
  using type = void;
};
template <class T>
struct BufferElement<Buffer<T>> {
  using type = T;
};
template <class A>
struct TensorElement {
  using type = void;
};
template <class T>
struct TensorElement<Tensor<T>> {
  using type = T;
};

/// A buffer of scalars may be passed where the parameter's elements are vectors of them.
template <class Param, class Arg>
inline constexpr bool element_fits =
    std::is_same_v<Param, Arg> || std::is_same_v<scalar_of<Param>, Arg>;

/// Takes one argument apart: a binding, a scalar or a comptime value.
template <class P, class A>
auto take_argument(const A& argument, LaunchRequest& request) {
  using Traits = ParamTraits<P>;
  using Arg = typename Unwrapped<A>::type;
  constexpr ParamKind kind = Traits::desc.kind;
  typename Traits::Stored stored{};
  const auto& value = [&]() -> const auto& {
    if constexpr (Unwrapped<A>::aliased) {
      return argument.buffer;
    } else {
      return argument;
    }
  }();
  if constexpr (kind == ParamKind::buffer) {
    using T = typename BufferElement<Arg>::type;
    static_assert(!std::is_void_v<T>,
                  "tessera: this parameter of the kernel takes a Buffer (of a Tensor: .buffer())");
    if constexpr (!std::is_void_v<T>) {
      static_assert(element_fits<typename Traits::Element, T>,
                    "tessera: the buffer's element type is not the parameter's");
      request.add_buffer(Traits::desc, value.ref(), sizeof(typename Traits::Element),
                         Unwrapped<A>::aliased);
    }
  } else if constexpr (kind == ParamKind::tensor) {
    using T = typename TensorElement<Arg>::type;
    static_assert(!std::is_void_v<T>, "tessera: this parameter of the kernel takes a Tensor");
    if constexpr (!std::is_void_v<T>) {
      static_assert(std::is_same_v<typename Traits::Element, T>,
                    "tessera: the tensor's element type is not the parameter's");
      request.add_tensor(Traits::desc, value.buffer().ref(), sizeof(T), value.shape(),
                         value.strides(), Unwrapped<A>::aliased);
      stored.rank = static_cast<std::uint8_t>(value.shape().rank());
    }
  } else if constexpr (kind == ParamKind::scalar) {
    using T = typename Traits::Element;
    static_assert(std::is_arithmetic_v<Arg> || std::is_same_v<Arg, T>,
                  "tessera: this parameter of the kernel takes a number");
    request.add_scalar(scalar_bits<T>(value, request), Traits::desc.type.elem);
  } else {
    static_assert(std::is_convertible_v<const Arg&, typename Traits::Stored>,
                  "tessera: the argument does not convert to this comptime parameter");
    stored = static_cast<typename Traits::Stored>(value);
    append_key(request.key, stored);
  }
  return stored;
}

template <class S>
struct TraceContext {
  typename S::Stored stored;
};

template <class S, class F, std::size_t... I, class... A>
Launched launch_with(const Stream& stream, LaunchRequest& request, F kernel, SourceLoc where,
                     std::index_sequence<I...>, const A&... arguments) {
  static_assert(sizeof...(A) == S::count,
                "tessera: the number of arguments is not that of the kernel's parameters");
  if constexpr (sizeof...(A) == S::count) {
    struct Context {
      typename S::Stored stored;
      F kernel;
    } context{
        typename S::Stored{take_argument<typename S::template Param<I>>(arguments, request)...},
        kernel};
    return Launched(launch_request(
        stream, request,
        [](void* c) {
          auto* me = static_cast<Context*>(c);
          S::call(me->kernel, me->stored);
        },
        &context, where));
  }
}

inline const Stream& stream_of(const Stream& stream) {
  return stream;
}
inline Stream stream_of(const ::tessera::Device& device) {
  return device.stream();
}

/// A grid and, to carry the call's line, where it was written.
template <class G>
struct GridArg {
  G grid;
  SourceLoc where;
  template <class X>
    requires(std::is_convertible_v<const X&, G>)
  GridArg(const X& x, SourceLoc at = SourceLoc::current()) : grid(x), where(at) {}  // NOLINT
};

}  // namespace detail

/// Launches a kernel function on a stream, or on a device's default stream.
template <auto K, class On, class... A>
Launched launch(const On& on, const detail::GridArg<Grid>& grid, const A&... arguments) {
  using S = detail::Signature<decltype(K)>;
  detail::LaunchRequest request(&detail::KernelTag<K>::tag, detail::kernel_name<K>(), grid.grid);
  return detail::launch_with<S>(detail::stream_of(on), request, K, grid.where,
                                std::make_index_sequence<S::count>(), arguments...);
}

/// The same with a count that the device computes.
template <auto K, class On, class... A>
Launched launch(const On& on, const detail::GridArg<DynamicGrid>& grid, const A&... arguments) {
  using S = detail::Signature<decltype(K)>;
  detail::LaunchRequest request(&detail::KernelTag<K>::tag, detail::kernel_name<K>(), grid.grid);
  return detail::launch_with<S>(detail::stream_of(on), request, K, grid.where,
                                std::make_index_sequence<S::count>(), arguments...);
}

/// Launches a captureless lambda.
template <class On, class L, class... A>
  requires std::is_class_v<L>
Launched launch(const On& on, const detail::GridArg<Grid>& grid, L kernel, const A&... arguments) {
  static_assert(std::is_empty_v<L>,
                "tessera: a kernel lambda captures nothing: pass values as Scalar or Const "
                "parameters");
  if constexpr (std::is_empty_v<L>) {
    using S = detail::Signature<detail::function_of<L>>;
    detail::LaunchRequest request(&detail::LambdaTag<L>::tag, "lambda", grid.grid);
    return detail::launch_with<S>(detail::stream_of(on), request, kernel, grid.where,
                                  std::make_index_sequence<S::count>(), arguments...);
  }
}

}  // namespace tessera::inline v0
