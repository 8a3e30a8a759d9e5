// SPDX-License-Identifier: MIT OR Apache-2.0
// Reads and syncs that somebody waits for.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

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

  void publish() {
    {
      const std::lock_guard lock(mutex);
      enqueued.store(true, std::memory_order_release);
    }
    changed.notify_all();
  }
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
