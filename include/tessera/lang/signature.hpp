// SPDX-License-Identifier: MIT OR Apache-2.0
// A kernel function seen from outside: what its parameters are, and how to call it while tracing.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tessera/lang/buffers.hpp"
#include "tessera/lang/comptime.hpp"
#include "tessera/lang/scalar.hpp"
#include "tessera/lang/tensors.hpp"

namespace tessera::inline v0::detail {

enum class ParamKind : std::uint8_t { buffer, tensor, scalar, comptime };

struct ParamDesc {
  ParamKind kind = ParamKind::comptime;
  ElemType type{};               // not of comptime ones
  Access access = Access::none;  // of buffers and tensors
  bool atomic = false;
};

template <class T>
struct AtomicTraits {
  using Element = T;
  static constexpr bool atomic = false;
};
template <class T>
struct AtomicTraits<Atomic<T>> {
  using Element = T;
  static constexpr bool atomic = true;
};

/// How a parameter type travels. `Stored` is what a trace keeps to make the parameter again.
template <class P>
struct ParamTraits {
  static_assert(!std::is_arithmetic_v<P>,
                "tessera: a bare arithmetic parameter is ambiguous: use Scalar<T> for a number "
                "given at each launch, Const<T> for one compiled in");
  static constexpr ParamDesc desc{};
  using Stored = P;
};
template <class T>
struct ParamTraits<Const<T>> {
  static constexpr ParamDesc desc{};
  using Stored = T;
};
template <class T>
struct ParamTraits<Scalar<T>> {
  static constexpr ParamDesc desc{ParamKind::scalar, elem_type_v<T>, Access::none, false};
  using Element = T;
  struct Stored {};
};

template <class T, Access A>
struct BufferTraits {
  using Element = typename AtomicTraits<T>::Element;
  static constexpr ParamDesc desc{ParamKind::buffer, elem_type_v<Element>, A,
                                  AtomicTraits<T>::atomic};
  struct Stored {};
};
template <class T>
struct ParamTraits<In<T>> : BufferTraits<T, Access::in> {};
template <class T>
struct ParamTraits<Out<T>> : BufferTraits<T, Access::out> {};
template <class T>
struct ParamTraits<InOut<T>> : BufferTraits<T, Access::inout> {};

template <class T, Access A>
struct TensorTraits {
  using Element = T;
  static constexpr ParamDesc desc{ParamKind::tensor, elem_type_v<T>, A, false};
  struct Stored {
    std::uint8_t rank = 0;
  };
};
template <class T>
struct ParamTraits<TensorIn<T>> : TensorTraits<T, Access::in> {};
template <class T>
struct ParamTraits<TensorOut<T>> : TensorTraits<T, Access::out> {};
template <class T>
struct ParamTraits<TensorInOut<T>> : TensorTraits<T, Access::inout> {};

/// Counts bindings and scalars while parameters are made in order.
struct ParamCounter {
  std::uint32_t bindings = 0;
  std::uint32_t scalars = 0;
};

template <class P>
P make_param(const typename ParamTraits<P>::Stored& stored, ParamCounter& next) {
  constexpr ParamKind kind = ParamTraits<P>::desc.kind;
  if constexpr (kind == ParamKind::buffer) {
    return P(next.bindings++);
  } else if constexpr (kind == ParamKind::tensor) {
    return P(next.bindings++, stored.rank);
  } else if constexpr (kind == ParamKind::scalar) {
    return P(next.scalars++);
  } else {
    return P(stored);
  }
}

/// Parameters of a function or captureless lambda.
template <class F>
struct Signature;
template <class... P>
struct Signature<void (*)(P...)> {
  static constexpr std::size_t count = sizeof...(P);
  static constexpr std::array<ParamDesc, sizeof...(P)> params{
      ParamTraits<std::remove_cvref_t<P>>::desc...};
  using Stored = std::tuple<typename ParamTraits<std::remove_cvref_t<P>>::Stored...>;
  template <std::size_t I>
  using Param = std::remove_cvref_t<std::tuple_element_t<I, std::tuple<P...>>>;

  template <class F>
  static void call(F&& kernel, const Stored& stored) {
    call(std::forward<F>(kernel), stored, std::index_sequence_for<P...>());
  }

 private:
  template <class F, std::size_t... I>
  static void call(F&& kernel, const Stored& stored, std::index_sequence<I...>) {
    ParamCounter next;
    // Braces: the parameters are made from left to right.
    std::tuple<std::remove_cvref_t<P>...> made{
        make_param<std::remove_cvref_t<P>>(std::get<I>(stored), next)...};
    kernel(std::get<I>(made)...);
  }
};
template <class... P>
struct Signature<void (*)(P...) noexcept> : Signature<void (*)(P...)> {};

template <class L>
using function_of = decltype(+std::declval<L>());

/// The kernel's name as the compiler writes it: for people, never for keys.
template <auto K>
constexpr std::string_view kernel_name() {
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  std::size_t begin = text.find("K = ");
  if (begin == std::string_view::npos) return "kernel";
  begin += 4;
  if (text[begin] == '&') ++begin;
  std::size_t end = text.find(';', begin);
  if (end == std::string_view::npos) end = text.rfind(']');
  return text.substr(begin, end - begin);
}

/// One object a kernel: its address is the kernel's identity in this process.
template <auto K>
struct KernelTag {
  static constexpr char tag = 0;
};
template <class L>
struct LambdaTag {
  static constexpr char tag = 0;
};

}  // namespace tessera::inline v0::detail
