// SPDX-License-Identifier: MIT OR Apache-2.0
// The same mosaic in plain C++ with OpenMP: the control row.
#pragma once

#include "tools/mosaic/plan.hpp"

namespace tessera::mosaic {

Picture run_control(const Picture& input, const Plan& plan);

}  // namespace tessera::mosaic
