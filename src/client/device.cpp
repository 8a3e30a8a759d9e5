// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tessera/device.hpp"

#include "client/pending_core.hpp"

namespace tessera::inline v0 {

const Properties& Device::properties() const noexcept { return core_->properties(); }

Stream Device::stream() const { return Stream(core_, 0); }

Stream Device::new_stream() const { return Stream(core_, core_->new_stream()); }

Status Device::sync(Deadline deadline) const {
  return detail::sync(core_, 0, true, deadline, SourceLoc{});
}

}  // namespace tessera::inline v0
