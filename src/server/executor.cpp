// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/executor.hpp"

#include <chrono>

namespace tessera::server {
namespace {

constexpr auto spin_time = std::chrono::microseconds(20);
constexpr auto full_pause = std::chrono::microseconds(50);
constexpr int batch = 64;  // commands under one hold of the lock

}  // namespace

Executor::Executor(driver::Driver& driver, Loader& loader, Shared& shared,
                   const ServerConfig& server, const ExecutorConfig& config)
    : driver_(driver),
      shared_(shared),
      config_(config),
      server_(driver, loader, shared, server),
      ring_(config.ring_cells),
      thread_([this] { work(); }) {}

Executor::~Executor() {
  stop();
}

void Executor::stop() {
  {
    const std::lock_guard lock(parking_);
    stopping_.store(true, std::memory_order_release);
  }
  parked_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Executor::push(const CommandHeader& command) {
  admit();
  while (!ring_.try_push(command)) {
    if (stopped()) return;
    notify();
    std::this_thread::sleep_for(full_pause);
  }
  notify();
}

// Holds the caller back while the device is too far behind. What is in flight shrinks by itself,
// but only an inspection notices, so the waiting thread asks for one.
void Executor::admit() {
  const std::uint32_t slots = driver_.properties().fault_slots;
  const auto full = [&] {
    return shared_.fault_launches.load(std::memory_order_relaxed) > slots ||
           shared_.log_size.load(std::memory_order_relaxed) > config_.log_limit ||
           shared_.staging.outstanding() > config_.staging_limit;
  };
  while (full() && !stopped()) {
    const Point oldest = with_server([](Server& server) {
      server.idle();
      return server.oldest();
    });
    if (!full()) return;
    if (oldest.ticket == 0) {
      std::this_thread::sleep_for(full_pause);
      continue;
    }
    const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
    if (!wait_host(oldest, soon)) return;  // lost: errors follow
  }
}

// Operations that have completed, on all queues together.
std::uint64_t Executor::progress() const {
  std::uint64_t sum = 0;
  for (std::uint32_t q = 0; q < driver_.properties().queues; ++q) {
    sum += driver_.completed(static_cast<driver::QueueId>(q));
  }
  return sum;
}

Result<bool> Executor::wait_host(Point point, driver::Deadline deadline) {
  if (!config_.hang_after) return driver_.wait_host(point.queue, point.ticket, deadline);
  std::uint64_t before = progress();
  for (;;) {
    std::chrono::steady_clock::time_point until =
        std::chrono::steady_clock::now() + *config_.hang_after;
    const bool deadline_first = deadline && *deadline < until;
    if (deadline_first) until = *deadline;
    Result<bool> done = driver_.wait_host(point.queue, point.ticket, until);
    if (!done || *done || deadline_first) return done;
    const std::uint64_t now = progress();
    if (now == before) break;
    before = now;
  }
  return with_server([&](Server& server) -> Result<bool> {
    const Error hang = server.describe_hang(*config_.hang_after);
    server.lose(hang);
    return hang;
  });
}

void Executor::run_or_push(const CommandHeader& command) {
  if (is_parked_.load(std::memory_order_acquire) && ring_.empty()) {
    std::unique_lock lock(execution_, std::try_to_lock);
    if (lock.owns_lock() && ring_.try_claim_position()) {
      server_.execute(command);
      return;
    }
  }
  push(command);
}

void Executor::wake() {
  woken_.store(true, std::memory_order_release);
  notify();
}

void Executor::notify() {
  if (!is_parked_.load(std::memory_order_seq_cst)) return;
  // Taking the lock orders this after the thread's last look at the ring.
  {
    const std::lock_guard lock(parking_);
  }
  parked_.notify_one();
}

bool Executor::drain() {
  bool any = false;
  for (;;) {
    const std::lock_guard lock(execution_);
    if (woken_.exchange(false, std::memory_order_acq_rel)) {
      server_.retry_parked();
      any = true;
    }
    int done = 0;
    while (done < batch) {
      const CommandHeader* command = ring_.front();
      if (command == nullptr) break;
      server_.execute(*command);
      ring_.pop();
      ++done;
    }
    any = any || done > 0;
    if (done < batch) {
      if (any) server_.idle();
      return any;
    }
  }
}

void Executor::work() {
  for (;;) {
    drain();
    const auto until = std::chrono::steady_clock::now() + spin_time;
    bool more = false;
    while (!more && std::chrono::steady_clock::now() < until) {
      more = !ring_.empty() || woken_.load(std::memory_order_acquire);
    }
    if (more) continue;
    std::unique_lock lock(parking_);
    is_parked_.store(true, std::memory_order_seq_cst);
    parked_.wait(lock, [this] {
      return !ring_.empty() || woken_.load(std::memory_order_acquire) || stopped();
    });
    is_parked_.store(false, std::memory_order_seq_cst);
    if (stopped() && ring_.empty()) return;
  }
}

}  // namespace tessera::server
