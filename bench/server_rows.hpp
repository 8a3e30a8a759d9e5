// SPDX-License-Identifier: MIT OR Apache-2.0
// What the server itself costs: memory, and its books per launch.
#pragma once

#include <vector>

#include "row.hpp"

namespace tessera::bench {

void server_rows(std::vector<Row>& rows);

}  // namespace tessera::bench
