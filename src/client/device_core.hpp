// SPDX-License-Identifier: MIT OR Apache-2.0
// What a Device handle holds: driver, loader, executor, and what its clients share.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

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
};

class DeviceCore : public std::enable_shared_from_this<DeviceCore> {
 public:
  DeviceCore(std::unique_ptr<driver::Driver> driver, const CoreConfig& config);
  ~DeviceCore();

  driver::Driver& driver() noexcept { return *driver_; }
  const driver::Properties& device() const noexcept { return driver_->properties(); }
  const Properties& properties() const noexcept { return properties_; }
  server::Executor& executor() noexcept { return executor_; }
  server::Loader& loader() noexcept { return loader_; }
  server::Shared& shared() noexcept { return shared_; }
  server::StreamId new_stream() noexcept { return next_stream_.fetch_add(1); }

  /// Kernels by key (function, comptime values, units, ranks, mode). Errors are kept: a kernel that
  /// does not trace never will.
  struct KnownKernel {
    server::KernelRef ref = 0;
    std::optional<Error> error;
  };
  /// Null where the key is new. The result stays valid.
  const KnownKernel* find_kernel(std::string_view key);
  /// The one that was there first wins.
  const KnownKernel& remember_kernel(std::string key, KnownKernel kernel);

  /// Ends the executor and the compile threads; later calls are answered DeviceLost.
  void close();

 private:
  std::unique_ptr<driver::Driver> driver_;
  Properties properties_;
  server::Shared shared_;
  server::Loader loader_;
  server::Executor executor_;
  std::atomic<server::StreamId> next_stream_{1};
  std::mutex kernels_mutex_;
  std::unordered_map<std::string, std::unique_ptr<KnownKernel>> kernels_;
};

/// The allocation behind buffers. Its last reference goes to the release list.
struct AllocationNode final : server::ReleaseNode {
  std::atomic<std::uint32_t> references{1};
  std::shared_ptr<DeviceCore> device;
};

/// Which stream an operation goes to: the one named, else the device's default.
inline server::StreamId stream_id(const Stream* stream) noexcept {
  return stream != nullptr ? stream->id() : 0;
}

/// Binding of a whole view.
server::Binding binding_of(const BufferRef& buffer, server::Access access);

/// Records `error` on the bytes of `buffer`, in program order.
void fail(DeviceCore& core, const BufferRef& buffer, const Error& error, server::StreamId stream,
          SourceLoc where);

}  // namespace tessera::inline v0::detail
