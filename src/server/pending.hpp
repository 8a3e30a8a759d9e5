// SPDX-License-Identifier: MIT OR Apache-2.0
// Reads and syncs that somebody waits for.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "server/command.hpp"
#include "server/ids.hpp"
#include "server/ordering/point.hpp"
#include "tessera/error.hpp"

namespace tessera::server {

/// Shared by the waiting thread and the server. Until `enqueued` is true only the server writes
/// it, afterwards only the failure may still be set, under the executor's lock.
struct PendingState {
  struct Part {
    driver::ReadId read;
    std::uint64_t bytes;
  };

  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> enqueued{false};  // the command was executed: the rest is final but for failure
  std::vector<Part> parts;            // of a read, in order
  std::vector<Point> waits;           // all that has to complete first
  std::optional<Error> failure;
  // For sync: what the second look at the claims is about.
  bool sync = false;
  bool whole_device = false;
  StreamId stream = 0;
  std::optional<Binding> binding;
  // Nobody will take the reads. Server only.
  bool dropped = false;

  void publish() {
    {
      const std::lock_guard lock(mutex);
      enqueued.store(true, std::memory_order_release);
    }
    changed.notify_all();
  }

 private:
  friend class DroppedReads;
  std::shared_ptr<PendingState> self_;  // while on the list of the dropped
  PendingState* next_ = nullptr;
};

/// Reads that nobody will take, on their way to the server. Handles die anywhere, and a drop may
/// neither wait nor allocate; giving a read back to the driver may wait for the device.
class DroppedReads {
 public:
  DroppedReads() = default;
  ~DroppedReads() {
    apply([](PendingState&) {});
  }
  DroppedReads(const DroppedReads&) = delete;
  DroppedReads& operator=(const DroppedReads&) = delete;

  /// Any thread; wait-free but for one compare-and-swap loop. At most once for each state.
  void push(std::shared_ptr<PendingState> state) noexcept {
    PendingState* node = state.get();
    node->self_ = std::move(state);
    node->next_ = head_.load(std::memory_order_relaxed);
    while (!head_.compare_exchange_weak(node->next_, node, std::memory_order_release,
                                        std::memory_order_relaxed)) {
    }
  }
  /// Calls f(state) for each. Server only.
  template <class F>
  void apply(F&& f) {
    if (head_.load(std::memory_order_relaxed) == nullptr) return;
    for (PendingState* n = head_.exchange(nullptr, std::memory_order_acquire); n != nullptr;) {
      const std::shared_ptr<PendingState> state = std::move(n->self_);
      n = n->next_;
      f(*state);
    }
  }

 private:
  std::atomic<PendingState*> head_{nullptr};
};

/// Thread-safe.
class PendingTable {
 public:
  PendingId insert(std::shared_ptr<PendingState> state) {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      const PendingId id = free_.back();
      free_.pop_back();
      states_[id] = std::move(state);
      return id;
    }
    states_.push_back(std::move(state));
    return static_cast<PendingId>(states_.size() - 1);
  }
  /// The server takes the state when it executes the command; the id is then free again.
  std::shared_ptr<PendingState> take(PendingId id) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<PendingState> state = std::move(states_[id]);
    states_[id].reset();
    free_.push_back(id);
    return state;
  }

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<PendingState>> states_;
  std::vector<PendingId> free_;
};

/// Failures found before their command was formed. Thread-safe.
class ErrorTable {
 public:
  ErrorId insert(Error error) {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      const ErrorId id = free_.back();
      free_.pop_back();
      errors_[id] = std::move(error);
      return id;
    }
    errors_.push_back(std::move(error));
    return static_cast<ErrorId>(errors_.size() - 1);
  }
  Error take(ErrorId id) {
    const std::lock_guard lock(mutex_);
    Error error = *errors_[id];
    errors_[id].reset();
    free_.push_back(id);
    return error;
  }

 private:
  std::mutex mutex_;
  std::vector<std::optional<Error>> errors_;
  std::vector<ErrorId> free_;
};

}  // namespace tessera::server
