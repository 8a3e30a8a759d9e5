// SPDX-License-Identifier: MIT OR Apache-2.0
// The text form of kernels: print(parse(print(k))) == print(k), byte for byte.
#pragma once

#include <string>
#include <string_view>

#include "ir/kernel.hpp"
#include "tessera/result.hpp"

namespace tessera::ir {

/// Values are numbered in printing order, so equal kernels print equally whatever their ids.
std::string print(const Kernel& kernel);
/// One operation as it stands in print(), for messages.
std::string print_op(const Kernel& kernel, Value op);
/// InvalidArgument with line and column of the text. The result is not verified.
Result<Kernel> parse(std::string_view text);

}  // namespace tessera::ir
