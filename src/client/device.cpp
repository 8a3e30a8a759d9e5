// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tessera/device.hpp"

#include "client/default_stream.hpp"
#include "client/pending_core.hpp"
#include "tessera/detail/kernel_source.hpp"

namespace tessera::inline v0 {

const Properties& Device::properties() const noexcept {
  return core_->properties();
}

Stream Device::stream() const {
  return Stream(core_, detail::default_stream(*core_));
}

Stream Device::new_stream() const {
  return Stream(core_, core_->new_stream());
}

Status Device::sync(Deadline deadline) const {
  return detail::sync(core_, 0, detail::SyncScope::device, deadline, SourceLoc{});
}

}  // namespace tessera::inline v0

namespace tessera::inline v0::detail {

std::vector<KernelSource> kernel_sources(const Device& device) {
  if (!device.core()->is_open()) return {};
  server::Loader& loader = device.core()->loader();
  loader.wait_idle();
  std::vector<KernelSource> out;
  for (const driver::Image& image : loader.images()) {
    out.push_back({image.kernel->name, image.target, image.code});
  }
  return out;
}

}  // namespace tessera::inline v0::detail
