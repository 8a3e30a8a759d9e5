// SPDX-License-Identifier: MIT OR Apache-2.0
// Kernels by reference: registered when they are traced, compiled and loaded off the executor.
//
// A kernel is compiled in variants (folded grid, index width, aliases). The thread that registers
// it asks for the variant that its launch will most likely need; a launch that needs another asks
// for it itself and is parked until it is there. A variant that failed stays failed: the kernel is
// the same text for ever.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "driver/driver.hpp"
#include "server/ids.hpp"

namespace tessera::server {

struct LoadedVariant {
  enum class State : std::uint8_t { compiling, ready, failed };
  driver::Variant variant;
  std::atomic<State> state{State::compiling};
  // Written before `state` leaves compiling.
  driver::KernelId id = 0;
  std::optional<Error> error;
  driver::Image image;
};

struct KernelEntry {
  std::shared_ptr<const ir::Kernel> kernel;
  ir::ParameterLayout layout;
  bool can_fault = false;
  bool writes_any = false;
  std::vector<std::unique_ptr<LoadedVariant>> variants;  // under the loader's lock
};

/// Every member is thread-safe. Entries live as long as the loader.
class Loader {
 public:
  /// `wake` is called on a compile thread whenever a variant has become ready or failed.
  Loader(driver::Driver& driver, unsigned threads, std::function<void()> wake);
  ~Loader();

  /// `kernel` has been through passes::prepare().
  KernelRef add(std::shared_ptr<const ir::Kernel> kernel);
  const KernelEntry& entry(KernelRef ref) const;
  /// The variant, whose compilation is started if nobody asked for it before. Stays valid.
  LoadedVariant& variant(KernelRef ref, const driver::Variant& variant);

  /// The images of all variants that are ready, in order of registration.
  std::vector<driver::Image> images() const;

  /// Compiles the variant that has waited longest on the calling thread; false where none waits.
  /// With a loader of no threads this is how anything gets compiled, in an order of one's own.
  bool compile_next();
  /// Waits until nothing is being compiled.
  void wait_idle();
  /// Ends the threads; what is queued is not compiled.
  void stop();
  /// The same without waiting.
  void request_stop();
  /// After request_stop(): waits for the threads. False if `latest` came first; they then run on
  /// and this object must be kept for ever.
  bool join_until(std::chrono::steady_clock::time_point latest);

 private:
  struct Job {
    std::shared_ptr<const ir::Kernel> kernel;
    LoadedVariant* variant;
  };
  void work();
  void compile(const Job& job);

  driver::Driver& driver_;
  const unsigned thread_count_;
  std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<KernelEntry> entries_;
  std::deque<Job> jobs_;
  std::size_t running_ = 0;
  std::size_t live_threads_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tessera::server
