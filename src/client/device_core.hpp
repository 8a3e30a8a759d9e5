// SPDX-License-Identifier: MIT OR Apache-2.0
// What a Device handle holds: driver, loader, executor, and what its clients share.
//
// Handles may outlive all of these: objects of static storage are destroyed after the process began
// to end, and a forked child has copies of its parent's handles without the threads behind them.
// So every call of a client asks is_open() before it touches a lock or the driver, every drop is
// nothing where it says no, and a core of another process is never taken apart.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/process.hpp"
#include "server/executor.hpp"
#include "server/launch/loader.hpp"
#include "tessera/detail/buffer_ref.hpp"
#include "tessera/device.hpp"

namespace tessera::inline v0::detail {

/// How a core is set up; the defaults are those of the configuration table.
struct CoreConfig {
  server::ServerConfig server;
  server::ExecutorConfig executor;
  unsigned compile_threads = 1;
  bool per_thread_streams = false;
};

class DeviceCore : public std::enable_shared_from_this<DeviceCore> {
 public:
  DeviceCore(std::unique_ptr<driver::Driver> driver, const CoreConfig& config);
  ~DeviceCore();

  driver::Driver& driver() noexcept { return *parts_->driver; }
  const driver::Properties& device() const noexcept { return parts_->driver->properties(); }
  const Properties& properties() const noexcept { return properties_; }
  server::Executor& executor() noexcept { return parts_->executor; }
  server::Loader& loader() noexcept { return parts_->loader; }
  server::Shared& shared() noexcept { return parts_->shared; }
  server::StreamId new_stream() noexcept { return next_stream_.fetch_add(1); }
  bool per_thread_streams() const noexcept { return per_thread_streams_; }
  /// Of this core alone in the life of the process.
  std::uint64_t number() const noexcept { return number_; }

  /// Kernels by key (function, comptime values, units, ranks, mode). Errors are kept: a kernel that
  /// does not trace never will.
  struct KnownKernel {
    server::KernelRef ref = 0;
    std::optional<Error> error;
  };
  /// Null where the key is new. The result stays valid.
  const KnownKernel* find_kernel(std::string_view key);
  /// The one that was there first wins: make() is called by the first thread alone, under a lock.
  const KnownKernel& remember_kernel(std::string key, const std::function<KnownKernel()>& make);

  /// Whether calls may go on to the executor: neither closed nor of another process.
  bool is_open() const noexcept { return !parts_->executor.stopped() && is_ours(); }
  /// The DeviceLost that answers every call where it is not open.
  Error closed() const;

  /// Never waits: no later call reaches the device, and its threads are told to end.
  void begin_close(server::Executor::Time latest);
  /// Waits for them. False if `latest` came first; the core must then be kept for ever.
  bool finish_close(server::Executor::Time latest);

 private:
  struct Parts {
    Parts(std::unique_ptr<driver::Driver> device, const CoreConfig& config);
    std::unique_ptr<driver::Driver> driver;
    server::Shared shared;
    server::Loader loader;
    server::Executor executor;
    std::mutex kernels_mutex;
    std::unordered_map<std::string, std::unique_ptr<KnownKernel>> kernels;
    Parts* next_left = nullptr;
  };
  bool is_ours() const noexcept { return generation_ == base::process_generation(); }
  static void leave(Parts* parts) noexcept;

  std::unique_ptr<Parts> parts_;
  Properties properties_;
  std::atomic<server::StreamId> next_stream_{1};
  const bool per_thread_streams_;
  const std::uint64_t number_;
  const std::uint32_t generation_ = base::process_generation();
};

/// The allocation behind buffers. Its last reference goes to the release list.
struct AllocationNode final : server::ReleaseNode {
  std::atomic<std::uint32_t> references{1};
  std::shared_ptr<DeviceCore> device;
};

/// A node with one reference; one that has been round before where there is one.
AllocationNode* new_node(DeviceCore& core);

/// Binding of a whole view.
server::Binding binding_of(const BufferRef& buffer, server::Access access);

/// InvalidArgument where the stream named is one of another device than the buffer's.
std::optional<Error> check_stream(const BufferRef& buffer, const Stream* stream, SourceLoc where);

/// Records `error` on the bytes of `buffer`, in program order.
void fail(DeviceCore& core, const BufferRef& buffer, const Error& error, server::StreamId stream,
          SourceLoc where);

}  // namespace tessera::inline v0::detail
