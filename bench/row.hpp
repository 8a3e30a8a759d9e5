// SPDX-License-Identifier: MIT OR Apache-2.0
// A figure beside its control, and how both are taken.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

struct Row {
  std::string name, device, unit;
  double value = 0;
  std::string control_name;
  double control = 0;
};

/// Median of `rounds` measurements, the two sides in turn, so that both see the same machine.
inline std::pair<double, double> medians(int rounds, const std::function<double()>& ours,
                                         const std::function<double()>& control) {
  std::vector<double> a, b;
  for (int i = 0; i < rounds; ++i) {
    a.push_back(ours());
    b.push_back(control());
  }
  const auto middle = [](std::vector<double>& v) {
    std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
  };
  return {middle(a), middle(b)};
}

inline double seconds(const std::function<void()>& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace tessera::bench
