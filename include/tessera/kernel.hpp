// SPDX-License-Identifier: MIT OR Apache-2.0
// All that a file of kernels needs, but for the $ spellings (tessera/lang/dollar.hpp).
#pragma once

#include "tessera/lang/buffers.hpp"
#include "tessera/lang/control.hpp"
#include "tessera/lang/expr.hpp"
#include "tessera/lang/math.hpp"
#include "tessera/lang/operators.hpp"
#include "tessera/lang/range.hpp"
#include "tessera/lang/scalar.hpp"
#include "tessera/lang/shared.hpp"
#include "tessera/lang/tensors.hpp"
#include "tessera/lang/topology.hpp"
#include "tessera/lang/var.hpp"
