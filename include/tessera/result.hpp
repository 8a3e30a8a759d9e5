// SPDX-License-Identifier: MIT OR Apache-2.0
// A value or the Error that explains its absence: the interface of std::expected, in C++20.
#pragma once

#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "tessera/error.hpp"

namespace tessera::inline v0 {

template <class T>
class [[nodiscard]] Result;

namespace detail {
template <class T>
inline constexpr bool is_result = false;
template <class T>
inline constexpr bool is_result<Result<T>> = true;
}  // namespace detail

/// Holds exactly one of T and Error. value() throws Exception where there is no value; operator*
/// and operator-> require one. Not thread-safe by itself; plain value semantics.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  using error_type = Error;

  template <class U = T>
    requires(std::is_constructible_v<T, U> && !detail::is_result<std::remove_cvref_t<U>> &&
             !std::is_same_v<std::remove_cvref_t<U>, Error>)
  Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}  // NOLINT
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}      // NOLINT

  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  T& value() & {
    require();
    return std::get<0>(state_);
  }
  const T& value() const& {
    require();
    return std::get<0>(state_);
  }
  T&& value() && {
    require();
    return std::get<0>(std::move(state_));
  }
  T& operator*() & noexcept { return *std::get_if<0>(&state_); }
  const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
  T&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() noexcept { return std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }

  const Error& error() const noexcept { return *std::get_if<1>(&state_); }

  template <class U>
  T value_or(U&& other) const& {
    return has_value() ? **this : static_cast<T>(std::forward<U>(other));
  }
  template <class U>
  T value_or(U&& other) && {
    return has_value() ? *std::move(*this) : static_cast<T>(std::forward<U>(other));
  }

  /// f(T) -> Result<U>
  template <class F>
  auto and_then(F&& f) && -> std::remove_cvref_t<std::invoke_result_t<F, T&&>> {
    if (!has_value()) return error();
    return std::invoke(std::forward<F>(f), *std::move(*this));
  }
  /// f(T) -> U
  template <class F>
  auto transform(F&& f) && -> Result<std::remove_cvref_t<std::invoke_result_t<F, T&&>>> {
    if (!has_value()) return error();
    return std::invoke(std::forward<F>(f), *std::move(*this));
  }
  /// f(Error) -> Result<T>
  template <class F>
  Result or_else(F&& f) && {
    if (has_value()) return std::move(*this);
    return std::invoke(std::forward<F>(f), error());
  }
  /// f(Error) -> Error
  template <class F>
  Result transform_error(F&& f) && {
    if (has_value()) return std::move(*this);
    return Result(std::invoke(std::forward<F>(f), error()));
  }

 private:
  void require() const {
    if (!has_value()) detail::throw_error(error());
  }
  std::variant<T, Error> state_;
};

/// Success, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;
  using error_type = Error;

  Result() noexcept = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT

  bool has_value() const noexcept { return !error_.has_value(); }
  explicit operator bool() const noexcept { return has_value(); }
  void value() const {
    if (error_) detail::throw_error(*error_);
  }
  const Error& error() const noexcept { return *error_; }

  template <class F>
  auto and_then(F&& f) const -> std::remove_cvref_t<std::invoke_result_t<F>> {
    if (error_) return *error_;
    return std::invoke(std::forward<F>(f));
  }
  template <class F>
  Result or_else(F&& f) const {
    if (!error_) return {};
    return std::invoke(std::forward<F>(f), *error_);
  }
  template <class F>
  Result transform_error(F&& f) const {
    if (!error_) return {};
    return Result(std::invoke(std::forward<F>(f), *error_));
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace tessera::inline v0
