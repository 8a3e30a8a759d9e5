// SPDX-License-Identifier: MIT OR Apache-2.0
// The kernels of the campaign and what each does to host values.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "ir/kernel.hpp"

namespace tessera::campaign {

inline constexpr std::uint32_t units = 16;  // per cube
inline constexpr std::string_view uncompilable = "uncompilable";

std::size_t kernel_count();
std::size_t kernel_bindings(std::size_t kernel);
std::string_view kernel_name(std::size_t kernel);
ir::Access kernel_access(std::size_t kernel, std::size_t binding);
/// Traced and prepared once for the process.
const std::shared_ptr<const ir::Kernel>& kernel_ir(std::size_t kernel);

/// Runs the kernel's meaning with so many units on the bindings' values. False: it faulted, and
/// what it should have written means nothing.
bool evaluate(std::size_t kernel, std::uint64_t running_units,
              std::span<std::vector<std::uint32_t>> bindings);

}  // namespace tessera::campaign
