// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/executor.hpp"

#include <algorithm>

namespace tessera::server {
namespace {

constexpr auto spin_time = std::chrono::microseconds(20);
constexpr auto full_pause = std::chrono::microseconds(50);
constexpr auto memory_pause = std::chrono::microseconds(200);
constexpr int batch = 64;  // commands under one hold of the lock
// Between looks at whether the executor was stopped, of those who wait without a deadline.
constexpr auto look_again = std::chrono::milliseconds(100);

}  // namespace

Executor::Executor(driver::Driver& driver, Loader& loader, Shared& shared,
                   const ServerConfig& server, const ExecutorConfig& config)
    : driver_(driver),
      shared_(shared),
      config_(config),
      server_(driver, loader, shared, server),
      ring_(config.ring_cells) {
  shared_.releases.watch(ring_.position_counter());
  thread_ = std::thread([this] { work(); });
}

Executor::~Executor() {
  stop();
}

void Executor::stop() {
  {
    const std::lock_guard lock(parking_);
    stopping_.store(true, std::memory_order_seq_cst);
  }
  parked_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Executor::abandon(Time latest) {
  {
    const std::lock_guard lock(parking_);
    latest_ = latest;
    abandoned_.store(true, std::memory_order_release);
    stopping_.store(true, std::memory_order_seq_cst);
  }
  parked_.notify_all();
}

bool Executor::join_until(Time latest) {
  {
    std::unique_lock lock(parking_);
    if (!has_ended_.wait_until(lock, latest, [this] { return ended_; })) return false;
  }
  if (thread_.joinable()) thread_.join();
  return true;
}

// In slices, to see meanwhile whether the executor was stopped or the device hangs.
Result<bool> Executor::wait_host(Point point, driver::Deadline deadline) {
  using std::chrono::steady_clock;
  const driver::DeviceKind kind = driver_.properties().kind;
  // A simulator tells endless waits from long ones by itself, where there is no deadline.
  const bool simulated = kind == driver::DeviceKind::simulator || kind == driver::DeviceKind::cpu;
  if (!config_.hang_after && (deadline || simulated)) {
    return driver_.wait_host(point.queue, point.ticket, deadline);
  }
  const std::chrono::nanoseconds slice =
      config_.hang_after ? std::min<std::chrono::nanoseconds>(look_again, *config_.hang_after / 4)
                         : look_again;
  std::uint64_t before = config_.hang_after ? progress() : 0;
  steady_clock::time_point moved = steady_clock::now();
  for (;;) {
    steady_clock::time_point until = steady_clock::now() + slice;
    const bool last = deadline && *deadline <= until;
    if (last) until = *deadline;
    Result<bool> done = driver_.wait_host(point.queue, point.ticket, until);
    if (!done || *done || last) return done;
    if (stopped()) return Error(ErrorKind::DeviceLost, "The device has been closed.");
    if (!config_.hang_after) continue;
    const std::uint64_t now = progress();
    if (now != before) {
      before = now;
      moved = steady_clock::now();
    } else if (steady_clock::now() - moved >= *config_.hang_after) {
      return with_server([&](Server& server) -> Result<bool> {
        const Error hang = server.describe_hang(*config_.hang_after);
        server.lose(hang);
        return hang;
      });
    }
  }
}

void Executor::push(const CommandHeader& command) {
  // A sync takes no room but its cells, and whoever waits for one may have a deadline.
  if (command.kind != CommandKind::sync) admit();
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
    const std::optional<Point> oldest = ask([](Server& server) {
      server.idle();
      return server.oldest();
    });
    if (!oldest || !full()) return;
    if (oldest->ticket == 0) {
      std::this_thread::sleep_for(full_pause);
      continue;
    }
    // Where a hang is looked for, the wait must be long enough to find it.
    driver::Deadline soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
    if (config_.hang_after) soon.reset();
    if (!wait_host(*oldest, soon)) return;  // lost: errors follow
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

void Executor::run_or_push(const CommandHeader& command) {
  if (is_parked_.load(std::memory_order_acquire) && ring_.empty()) {
    std::unique_lock lock(execution_, std::try_to_lock);
    if (lock.owns_lock() && stopped()) return;
    if (lock.owns_lock() && ring_.try_claim_position()) {
      server_.execute(command);
      return;
    }
  }
  push(command);
}

void Executor::catch_up() {
  const std::uint64_t position = positions();
  while (!stopped()) {
    {
      const std::lock_guard lock(execution_);
      if (server_.executed() >= position) return;
    }
    notify();
    std::this_thread::sleep_for(full_pause);
  }
}

void Executor::wake() {
  // Sequentially consistent, as the ring's tail: the store must not pass notify()'s look at whether
  // the thread is parked, or both sides would go by what was before.
  woken_.store(true, std::memory_order_seq_cst);
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
    if (abandoned()) return any;
    if (woken_.exchange(false, std::memory_order_acq_rel)) {
      server_.retry_parked();
      any = true;
    }
    int done = 0;
    while (done < batch && !abandoned()) {
      const CommandHeader* command = ring_.front();
      if (command == nullptr) break;
      server_.execute(*command);
      ring_.pop();
      ++done;
    }
    if (abandoned()) return any;
    any = any || done > 0;
    if (done < batch) {
      if (any) server_.idle();
      return any;
    }
  }
}

// Nobody may be inside the driver when it is destroyed, or when the process ends and with it
// whatever the device's libraries keep in static objects: neither a client nor the device itself.
void Executor::settle() {
  Time latest;
  {
    const std::lock_guard lock(parking_);
    latest = latest_;
  }
  const auto in_time = [&] { return std::chrono::steady_clock::now() < latest; };
  while (uses_.load(std::memory_order_acquire) > 0 && in_time()) {
    std::this_thread::sleep_for(full_pause);
  }
  while (in_time()) {
    Point oldest;
    {
      // Clients that were executing are done when this lock is had; later ones see the stop.
      const std::lock_guard lock(execution_);
      server_.idle();
      oldest = server_.oldest();
    }
    if (oldest.ticket == 0) return;
    const driver::Deadline until = latest == Time::max() ? driver::Deadline() : latest;
    const Result<bool> done = driver_.wait_host(oldest.queue, oldest.ticket, until);
    if (!done || !*done) return;  // lost, or out of time
  }
}

void Executor::work() {
  for (;;) {
    drain();
    const auto until = std::chrono::steady_clock::now() + spin_time;
    bool more = false;
    while (!more && !abandoned() && std::chrono::steady_clock::now() < until) {
      more = !ring_.empty() || woken_.load(std::memory_order_acquire);
    }
    if (more) continue;
    std::unique_lock lock(parking_);
    is_parked_.store(true, std::memory_order_seq_cst);
    const auto wanted = [this] {
      return !ring_.empty() || woken_.load(std::memory_order_seq_cst) || stopped();
    };
    if (shared_.awaiting_memory.load(std::memory_order_relaxed) == 0) {
      parked_.wait(lock, wanted);
    } else if (!parked_.wait_for(lock, memory_pause, wanted)) {
      // Nobody tells when the device has given pages back.
      lock.unlock();
      const std::lock_guard executing(execution_);
      if (!abandoned()) server_.idle();
    }
    is_parked_.store(false, std::memory_order_seq_cst);
    if (abandoned() || (stopped() && ring_.empty())) break;
  }
  settle();
  {
    const std::lock_guard lock(parking_);
    ended_ = true;
  }
  has_ended_.notify_all();
}

}  // namespace tessera::server
