// SPDX-License-Identifier: MIT OR Apache-2.0
// The mosaic on a device.
#pragma once

#include "tessera/device.hpp"
#include "tools/mosaic/plan.hpp"

namespace tessera::mosaic {

/// Issues all steps on one stream and reads the picture back once. `broken` takes the border guard
/// out of the kernel `jump`.
Result<Picture> run_device(const Device& device, const Picture& input, const Plan& plan,
                           bool broken = false);

}  // namespace tessera::mosaic
