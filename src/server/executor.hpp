// SPDX-License-Identifier: MIT OR Apache-2.0
// The device's executor: one lock, one ring, one thread that drains it.
//
// Clients push commands and go on. The thread executes them in ring order under the lock, spins
// for a moment when the ring is empty, then parks. A client that wants an answer (a read or sync)
// and finds the thread parked and the ring empty takes the lock and executes that one command
// itself, which saves two thread hops; it never executes what others pushed.
//
// Nothing under the lock waits for the device. Whoever must wait, because the ring, the log, the
// fault words or the staging memory are full, does so on its own thread with the lock released.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "server/command_ring.hpp"
#include "server/server.hpp"

namespace tessera::server {

struct ExecutorConfig {
  std::size_t ring_cells = 4096;
  std::uint32_t log_limit = 16384;           // entries of the in-flight log
  std::uint64_t staging_limit = 512u << 20;  // bytes of host memory held for uploads
  // A device that finishes nothing for so long while somebody waits for it counts as lost. None:
  // it may take as long as it likes.
  std::optional<std::chrono::nanoseconds> hang_after;
};

class Executor {
 public:
  Executor(driver::Driver& driver, Loader& loader, Shared& shared, const ServerConfig& server,
           const ExecutorConfig& config);
  ~Executor();

  /// Queues a command. Waits, without any lock, while something is full.
  void push(const CommandHeader& command);
  /// Executes it here if nobody else is executing and nothing is queued, else queues it.
  void run_or_push(const CommandHeader& command);
  /// Parked launches may have become ready. Any thread; never waits.
  void wake();

  /// Calls f(server) under the lock.
  template <class F>
  auto with_server(F&& f) {
    const std::lock_guard lock(execution_);
    return f(server_);
  }
  std::uint64_t positions() const noexcept { return ring_.positions(); }
  /// Waits on the caller's thread until the ticket has completed or failed.
  Result<bool> wait_host(Point point, driver::Deadline deadline);
  /// Ends the thread after what is queued. Later pushes are dropped.
  void stop();
  bool stopped() const noexcept { return stopping_.load(std::memory_order_acquire); }

 private:
  void work();
  bool drain();
  void admit();
  std::uint64_t progress() const;
  void notify();

  driver::Driver& driver_;
  Shared& shared_;
  ExecutorConfig config_;
  Server server_;
  CommandRing ring_;
  std::mutex execution_;
  std::mutex parking_;
  std::condition_variable parked_;
  std::atomic<bool> is_parked_{false};
  std::atomic<bool> woken_{false};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace tessera::server
