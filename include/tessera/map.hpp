// SPDX-License-Identifier: MIT OR Apache-2.0
// Element-wise work without writing a kernel.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "tessera/kernel.hpp"
#include "tessera/launch.hpp"

namespace tessera::inline v0 {

namespace detail {

/// A buffer of `count` elements that fails with `error`: what a refused call returns.
template <Element T>
Buffer<T> refused(Error error) {
  BufferRef ref;
  ref.invalid = std::make_shared<const Error>(std::move(error));
  return Buffer<T>(std::move(ref));
}

}  // namespace detail

/// out[i] = f(x[i], more[i] …) in a new buffer of the element type that f gives. `f` is a
/// captureless lambda on values of the language. Runs on the device's default stream. Buffers of
/// different lengths: the result fails with InvalidArgument.
template <class F, Element T, Element... U>
auto map(const Device& device, F, const Buffer<T>& x, const Buffer<U>&... more) {
  static_assert(std::is_empty_v<F>, "tessera: the function of map() captures nothing");
  using R = detail::element_of<std::invoke_result_t<F, Expr<T>, Expr<U>...>>;
  if (((more.size() != x.size()) || ...)) {
    return detail::refused<R>(
        Error(ErrorKind::InvalidArgument, "The buffers of a map have different lengths."));
  }
  Buffer<R> out = device.alloc<R>(x.size());
  launch(
      device, Grid::over(x.size()),
      [](Out<R> result, In<T> first, In<U>... rest) {
        TESSERA_IF(absolute_pos < first.len()) {
          // The other buffers are as long: the launch has checked.
          result[absolute_pos] = F{}(first[absolute_pos], rest[absolute_pos]...);
        }
      },
      out, x, more...);
  return out;
}

}  // namespace tessera::inline v0
