// SPDX-License-Identifier: MIT OR Apache-2.0
// Comptime values as part of a kernel's identity: every member, bit for bit.
#pragma once

#include <array>
#include <bit>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "tessera/lang/scalar.hpp"

namespace tessera::inline v0::detail {

struct AnyMember {
  template <class T>
  constexpr operator T() const;
};

// How many members an aggregate is initialised from: the largest number of values it takes.
template <class T, class... M>
consteval int member_count() {
  if constexpr (sizeof...(M) > 12) {
    return -1;
  } else if constexpr (requires { T{M{}..., AnyMember{}}; }) {
    return member_count<T, M..., AnyMember>();
  } else {
    return static_cast<int>(sizeof...(M));
  }
}

template <class T>
void append_key(std::string& key, const T& value);

template <class T>
void append_bytes(std::string& key, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto bytes = std::bit_cast<std::array<char, sizeof(T)>>(value);
  key.append(bytes.data(), bytes.size());
}

template <class... M>
void append_all(std::string& key, const M&... members) {
  (append_key(key, members), ...);
}

template <class T>
void append_aggregate(std::string& key, const T& v) {
  constexpr int n = member_count<T>();
  static_assert(n >= 0, "tessera: a comptime struct has at most 12 members");
  if constexpr (n == 1) {
    const auto& [a] = v;
    append_all(key, a);
  } else if constexpr (n == 2) {
    const auto& [a, b] = v;
    append_all(key, a, b);
  } else if constexpr (n == 3) {
    const auto& [a, b, c] = v;
    append_all(key, a, b, c);
  } else if constexpr (n == 4) {
    const auto& [a, b, c, d] = v;
    append_all(key, a, b, c, d);
  } else if constexpr (n == 5) {
    const auto& [a, b, c, d, e] = v;
    append_all(key, a, b, c, d, e);
  } else if constexpr (n == 6) {
    const auto& [a, b, c, d, e, f] = v;
    append_all(key, a, b, c, d, e, f);
  } else if constexpr (n == 7) {
    const auto& [a, b, c, d, e, f, g] = v;
    append_all(key, a, b, c, d, e, f, g);
  } else if constexpr (n == 8) {
    const auto& [a, b, c, d, e, f, g, h] = v;
    append_all(key, a, b, c, d, e, f, g, h);
  } else if constexpr (n == 9) {
    const auto& [a, b, c, d, e, f, g, h, i] = v;
    append_all(key, a, b, c, d, e, f, g, h, i);
  } else if constexpr (n == 10) {
    const auto& [a, b, c, d, e, f, g, h, i, j] = v;
    append_all(key, a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (n == 11) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k] = v;
    append_all(key, a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (n == 12) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l] = v;
    append_all(key, a, b, c, d, e, f, g, h, i, j, k, l);
  }
}

template <class T>
inline constexpr bool is_optional_v = false;
template <class T>
inline constexpr bool is_optional_v<std::optional<T>> = true;
template <class T>
inline constexpr bool is_array_v = false;
template <class T, std::size_t N>
inline constexpr bool is_array_v<std::array<T, N>> = true;

/// Appends what tells `value` from every other value of its type.
template <class T>
void append_key(std::string& key, const T& value) {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, f16> ||
                std::is_same_v<T, bf16>) {
    append_bytes(key, value);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    const std::string_view text = value;
    append_bytes(key, text.size());
    key.append(text);
  } else if constexpr (is_optional_v<T>) {
    append_bytes(key, value.has_value());
    if (value) append_key(key, *value);
  } else if constexpr (is_array_v<T>) {
    for (const auto& element : value) append_key(key, element);
  } else {
    static_assert(std::is_aggregate_v<T>,
                  "tessera: a comptime parameter is an enum, a number in a Const<T>, or an "
                  "aggregate of such members, strings, optionals and arrays");
    append_aggregate(key, value);
  }
}

}  // namespace tessera::inline v0::detail
