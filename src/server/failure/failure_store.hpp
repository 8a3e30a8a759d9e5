// SPDX-License-Identifier: MIT OR Apache-2.0
// The failure model: which bytes hold what somebody should have written, and why they do not.
//
// A failure belongs to the bytes that it left unwritten (DESIGN 6.2): a claim on them, seen by
// whoever reads them on any stream at any later time, and cleared by a successful write or with
// the allocation. Nothing else notices. There is no error queue and no unhealthy stream.
//
// Two ways lead here: at enqueue, a scope over what the operation writes (WriteScope), settled or
// not; while running, the in-flight log, walked when a fault word or a late error comes in.
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <string_view>

#include "driver/driver.hpp"
#include "server/failure/inflight_log.hpp"
#include "server/memory/allocation_table.hpp"
#include "server/ordering/clocks.hpp"

namespace tessera::server {

class FailureStore {
 public:
  FailureStore(driver::Driver& driver, AllocationTable& allocations, const Clocks& clocks);

  /// The failure that a reader of the range meets first, or null. A binding of an allocation that
  /// is gone fails too.
  std::optional<Error> check(const Binding& binding);
  std::optional<Error> check(std::span<const Binding> bindings);
  /// The earliest claim on any live allocation; of one stream's operations where given.
  std::optional<Error> earliest(std::optional<StreamId> stream);

  /// The bytes were left unwritten. Memory that was never allocated keeps its own reason.
  void claim(const Binding& binding, const Error& error, StreamId stream);
  /// The same, but bytes that have a claim keep it.
  void claim_clean(const Binding& binding, const Error& error, StreamId stream);
  /// The allocation could not be made.
  void never_allocated(Allocation& allocation, const Error& error, StreamId stream);
  /// A write of the bytes was enqueued.
  void written(const Binding& binding);
  /// A failure at enqueue among operations in flight: keeps its place in the log. `replaces`: also
  /// what its bytes were tainted with before.
  void log_failure(std::span<const Binding> writes, const Error& error, StreamId stream,
                   bool replaces = true);

  InflightLog& log() noexcept { return log_; }
  const InflightLog& log() const noexcept { return log_; }

  /// Takes a free fault slot; none: no slot is free now.
  std::uint32_t take_slot();
  /// The launch that took it was not enqueued.
  void return_slot(std::uint32_t slot) { free_slots_.push_back(slot); }
  std::size_t free_slots() const noexcept { return free_slots_.size(); }

  struct Hooks {
    // A sentence for a fault word, with kernel, line, buffer and element.
    std::function<Error(const LogEntry&, const driver::FaultWord&)> explain;
    std::function<void(StagingId)> release_staging;
  };
  /// Inspects what has completed, carries new failures through the log, drops what is settled. The
  /// cost is that of what has completed since the last time.
  void inspect(const Hooks& hooks);
  /// The entry that was appended last holds a fault slot and has its ticket.
  void slot_armed() {
    LogEntry& entry = log_[log_.size() - 1];
    slots_by_queue_[entry.at.queue].push_back(log_.next_number() - 1);
  }
  /// The device is gone: what has not completed is void. The first reason stays.
  void lose(const Error& error);
  const std::optional<Error>& lost() const noexcept { return lost_; }

 private:
  static constexpr std::uint64_t nothing = ~std::uint64_t{0};
  void take_late_errors(std::uint64_t& first_new);
  void read_words(const Hooks& hooks, std::uint64_t& first_new);
  void void_unfinished(std::uint64_t& first_new);
  void propagate(std::uint64_t from);
  void sample_completed();
  bool retired(const LogEntry& entry) const {
    return entry.at.ticket == 0 || completed_[entry.at.queue] >= entry.at.ticket;
  }
  void set_claim(Allocation& allocation, Claim claim);

  driver::Driver& driver_;
  AllocationTable& allocations_;
  const Clocks& clocks_;
  InflightLog log_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<driver::Ticket> completed_;  // by queue, as sampled at the start of an inspection
  std::vector<std::deque<std::uint64_t>> slots_by_queue_;  // entries with uninspected fault slots
  std::optional<Error> lost_;
  bool voided_ = false;
  std::uint64_t next_sequence_ = 1;
};

/// Claims what an operation writes for as long as it is being enqueued: settled well it cleans the
/// bytes, failed or left unsettled it taints them.
class WriteScope {
 public:
  WriteScope(FailureStore& store, std::span<const Binding> writes, StreamId stream,
             std::string_view what, SourceLoc site)
      : store_(store), writes_(writes), stream_(stream), what_(what), site_(site) {}
  WriteScope(const WriteScope&) = delete;
  WriteScope& operator=(const WriteScope&) = delete;
  ~WriteScope();

  void succeed();
  void fail(const Error& error);
  /// As fail(), where bytes that are tainted already keep their own reason.
  void fail_clean(const Error& error);

 private:
  FailureStore& store_;
  std::span<const Binding> writes_;
  StreamId stream_;
  std::string_view what_;
  SourceLoc site_;
  bool settled_ = false;
};

}  // namespace tessera::server
