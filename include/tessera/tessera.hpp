// SPDX-License-Identifier: MIT OR Apache-2.0
// Everything public but the $ spellings (tessera/lang/dollar.hpp).
#pragma once

#include "tessera/device.hpp"
#include "tessera/kernel.hpp"
#include "tessera/launch.hpp"
#include "tessera/map.hpp"
#include "tessera/reduce.hpp"
