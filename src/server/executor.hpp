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
//
// It ends in one of two ways. stop() finishes what is queued: the owner is the only user left.
// abandon() drops it: the process ends, clients may be in the middle of a call on other threads,
// and the device may hang. What has to be waited for is then waited for by the executor's own
// thread, and whoever ends the process waits for that thread no longer than it wants to.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

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
  using Time = std::chrono::steady_clock::time_point;

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
  /// The same, or nothing where the executor was stopped: for clients, which may come at any time.
  template <class F>
  auto ask(F&& f) -> std::optional<decltype(f(std::declval<Server&>()))> {
    if (stopped()) return std::nullopt;
    const std::lock_guard lock(execution_);
    if (stopped()) return std::nullopt;
    return f(server_);
  }
  /// Held by a client around a call of the driver that goes past the executor. False where the
  /// executor was stopped: then the driver must not be called.
  class DriverUse {
   public:
    explicit DriverUse(Executor& executor) noexcept : executor_(executor) {
      executor_.uses_.fetch_add(1, std::memory_order_seq_cst);
      allowed_ = !executor_.stopping_.load(std::memory_order_seq_cst);
    }
    ~DriverUse() { executor_.uses_.fetch_sub(1, std::memory_order_release); }
    DriverUse(const DriverUse&) = delete;
    DriverUse& operator=(const DriverUse&) = delete;
    explicit operator bool() const noexcept { return allowed_; }

   private:
    Executor& executor_;
    bool allowed_;
  };

  /// Waits, without any lock, until what was pushed before the call has been executed.
  void catch_up();
  std::uint64_t positions() const noexcept { return ring_.positions(); }
  /// Waits on the caller's thread until the ticket has completed or failed, or the executor was
  /// stopped (DeviceLost).
  Result<bool> wait_host(Point point, driver::Deadline deadline);
  /// Ends the thread after what is queued. Later pushes are dropped.
  void stop();
  /// Never waits: tells the thread to end after the command it is executing and to let clients and
  /// the device finish what they have begun, at most until `latest`. Later pushes are dropped.
  void abandon(Time latest);
  /// Waits for the thread to end. False if `latest` came first; the thread then runs on and this
  /// object must be kept for ever.
  bool join_until(Time latest);
  bool stopped() const noexcept { return stopping_.load(std::memory_order_acquire); }

 private:
  void work();
  bool drain();
  void settle();
  void admit();
  std::uint64_t progress() const;
  void notify();
  bool abandoned() const noexcept { return abandoned_.load(std::memory_order_acquire); }

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
  std::atomic<bool> abandoned_{false};
  std::atomic<int> uses_{0};   // of the driver by clients
  Time latest_ = Time::max();  // under parking_
  bool ended_ = false;         // under parking_
  std::condition_variable has_ended_;
  std::thread thread_;
};

}  // namespace tessera::server
