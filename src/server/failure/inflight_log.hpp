// SPDX-License-Identifier: MIT OR Apache-2.0
// Every operation between its enqueueing and its inspection, in program order.
//
// A fault is found after the fact: the word of a launch is read once the launch has completed, and
// by then other operations may have consumed what it left. The log says which: going through it
// from the failed entry on, a byte is tainted when a failed entry should have written it, an
// operation that reads a tainted byte fails with the same root, and a full overwrite that is itself
// clean makes bytes clean again. What that walk leaves tainted at its end becomes claims.
//
// Entries leave at the front only, inspected, so that whatever may still be found to have failed
// has its whole future in the log. Failures found at enqueue are entries too, with no operation
// behind them: they must keep their place between the writes before and after.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "server/command.hpp"
#include "server/ordering/point.hpp"
#include "server/pending.hpp"

namespace tessera::server {

enum class OpKind : std::uint8_t { launch, upload, fill, copy, read, relocation, failed };

struct ByteRange {
  AllocationId allocation;
  std::uint64_t begin, end;
};

struct LogEntry {
  static constexpr std::uint32_t no_slot = ~std::uint32_t{0};
  static constexpr StagingId no_staging = ~StagingId{0};

  OpKind kind = OpKind::launch;
  Point at;  // ticket 0: nothing was enqueued
  StreamId stream = 0;
  SourceLoc site;
  KernelRef kernel = 0;
  std::uint32_t fault_slot = no_slot;
  std::uint32_t fault_claim = 0;
  StagingId staging = no_staging;
  // Sound, it cleans what it writes; failed, it replaces the reason that stood there. A launch with
  // a dynamic count does neither.
  bool full_overwrite = true;
  std::vector<ByteRange> reads;
  std::vector<ByteRange> writes;
  std::vector<std::uint64_t> parameters;  // of a launch with a fault slot: ir::ParameterLayout
  std::vector<AllocationId> bound;        // likewise: what each binding was
  std::shared_ptr<PendingState> pending;
  std::optional<Error> failure;                 // of its own, or the reason that its inputs are bad
  std::size_t bad_input = ~std::size_t{0} - 1;  // number of the input whose reason `failure` is
  bool inspected = false;
};

class InflightLog {
 public:
  LogEntry& append() {
    if (spare_.empty()) {
      entries_.push_back(std::make_unique<LogEntry>());
    } else {
      entries_.push_back(std::move(spare_.back()));
      spare_.pop_back();
    }
    return *entries_.back();
  }
  /// The entry appended last turned out not to be needed.
  void drop_last() {
    recycle(std::move(entries_.back()));
    entries_.pop_back();
  }
  /// Entries are numbered from 0 for ever; `front` is the number of the oldest that is left.
  std::uint64_t front_number() const noexcept { return front_; }
  LogEntry& numbered(std::uint64_t n) { return *entries_[n - front_]; }
  std::uint64_t next_number() const noexcept { return front_ + entries_.size(); }
  bool empty() const noexcept { return entries_.empty(); }
  std::size_t size() const noexcept { return entries_.size(); }
  LogEntry& operator[](std::size_t i) { return *entries_[i]; }
  const LogEntry& operator[](std::size_t i) const { return *entries_[i]; }
  LogEntry& front() { return *entries_.front(); }
  void pop_front() {
    recycle(std::move(entries_.front()));
    entries_.pop_front();
    ++front_;
  }

 private:
  void recycle(std::unique_ptr<LogEntry> entry) {
    // Vectors keep their room, so that a steady stream of launches allocates nothing.
    auto reads = std::move(entry->reads);
    auto writes = std::move(entry->writes);
    auto parameters = std::move(entry->parameters);
    auto bound = std::move(entry->bound);
    *entry = LogEntry();
    reads.clear();
    writes.clear();
    parameters.clear();
    bound.clear();
    entry->reads = std::move(reads);
    entry->writes = std::move(writes);
    entry->parameters = std::move(parameters);
    entry->bound = std::move(bound);
    spare_.push_back(std::move(entry));
  }
  std::deque<std::unique_ptr<LogEntry>> entries_;
  std::uint64_t front_ = 0;
  std::vector<std::unique_ptr<LogEntry>> spare_;
};

}  // namespace tessera::server
