// SPDX-License-Identifier: MIT OR Apache-2.0
// Instances and adapters.
//
// The C interface gives one adapter per request and names none, so adapters are told apart by the
// Vulkan driver that they come from: one instance per driver manifest, made while the loader's
// environment names that manifest alone. A manifest list that the user has set is respected.
#pragma once

#include <string>
#include <vector>

#include "driver/webgpu/adapters.hpp"
#include "driver/webgpu/api.hpp"
#include "driver/webgpu/webgpu.hpp"

namespace tessera::driver {

/// Vulkan driver manifests, in the order in which adapters are numbered.
std::vector<std::string> find_manifests(const WebgpuOptions& options);

/// BackendUnavailable in a forked child whose parent used WebGPU before the fork: the library and
/// the Vulkan drivers have threads, which the child lacks, and locks, which those may have held. To
/// be asked before anything else of this file, since our own locks are no better.
Status usable_in_this_process();

struct OpenAdapter {
  wg::Instance instance = nullptr;
  wg::Adapter adapter = nullptr;  // owned by the caller
};
/// Makes (or finds) the instance of the manifest and asks it for its adapter.
Result<OpenAdapter> request_adapter(const wg::Api& api, const std::string& manifest);

}  // namespace tessera::driver
