// SPDX-License-Identifier: MIT OR Apache-2.0
// Instances and adapters.
//
// The C interface gives one adapter per request and names none, so adapters are told apart by the
// Vulkan driver that they come from: one instance per driver manifest, made while the loader's
// environment names that manifest alone. A manifest list that the user has set is respected.
#pragma once

#include <atomic>
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

/// Work that the Vulkan driver was given and has not answered: submitted segments and compilations.
class InFlight {
 public:
  static void begin() noexcept { count_.fetch_add(1, std::memory_order_acq_rel); }
  static void end() noexcept { count_.fetch_sub(1, std::memory_order_acq_rel); }
  static bool any() noexcept { return count_.load(std::memory_order_acquire) > 0; }

 private:
  static inline constinit std::atomic<int> count_{0};
};

/// To be called whenever the library or the Vulkan drivers may have registered exit handlers. Those
/// join threads and destroy what the threads use. In a forked child, which has no such threads, or
/// with work that did not end in the time that the exit was given, they crash or hang. There the
/// process leaves before they run: handlers and static destructors registered later than the use of
/// WebGPU have run, stdio is flushed and the code is kept, but what is left of the list is not run.
void guard_exit();

struct OpenAdapter {
  wg::Instance instance = nullptr;
  wg::Adapter adapter = nullptr;  // owned by the caller
};
/// Makes (or finds) the instance of the manifest and asks it for its adapter.
Result<OpenAdapter> request_adapter(const wg::Api& api, const std::string& manifest);

}  // namespace tessera::driver
