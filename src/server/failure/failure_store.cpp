// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/failure/failure_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "server/defects.hpp"

namespace tessera::server {

FailureStore::FailureStore(driver::Driver& driver, AllocationTable& allocations,
                           const Clocks& clocks)
    : driver_(driver),
      allocations_(allocations),
      clocks_(clocks),
      completed_(clocks.queues(), 0),
      slots_by_queue_(clocks.queues()) {
  const std::uint32_t slots = driver.properties().fault_slots;
  for (std::uint32_t i = slots; i > 0; --i) free_slots_.push_back(i - 1);
}

std::optional<Error> FailureStore::check(const Binding& binding) {
  Allocation* a = allocations_.find(binding.allocation);
  if (a == nullptr) {
    return Error(ErrorKind::InvalidArgument,
                 "The buffer's memory is not there any more: its last handle is gone.");
  }
  if (a->never) return a->never->error;
  const Claim* claim = a->claims.first(binding.offset, binding.offset + binding.bytes);
  return claim != nullptr ? std::optional<Error>(claim->error) : std::nullopt;
}

std::optional<Error> FailureStore::check(std::span<const Binding> bindings) {
  for (const Binding& b : bindings) {
    if (std::optional<Error> e = check(b)) return e;
  }
  return std::nullopt;
}

std::optional<Error> FailureStore::earliest(std::optional<StreamId> stream) {
  const Claim* first = nullptr;
  const auto consider = [&](const Claim& c) {
    if (stream && c.stream != *stream) return;
    if (first == nullptr || c.sequence < first->sequence) first = &c;
  };
  allocations_.for_each_tainted([&](const Allocation& a) {
    if (a.never) consider(*a.never);
    for (const Claim& c : a.claims.all()) consider(c);
  });
  return first != nullptr ? std::optional<Error>(first->error) : std::nullopt;
}

void FailureStore::set_claim(Allocation& allocation, Claim claim) {
  allocation.claims.set(std::move(claim));
  allocations_.note_tainted(allocation);
}

void FailureStore::claim(const Binding& binding, const Error& error, StreamId stream) {
  Allocation* a = allocations_.find(binding.allocation);
  if (a == nullptr || a->never || defect(Defect::forget_claim)) return;
  set_claim(*a, {binding.offset, binding.offset + binding.bytes, error, stream, next_sequence_++});
}

void FailureStore::claim_clean(const Binding& binding, const Error& error, StreamId stream) {
  Allocation* a = allocations_.find(binding.allocation);
  if (a == nullptr || a->never) return;
  a->claims.set_where_clean(
      {binding.offset, binding.offset + binding.bytes, error, stream, next_sequence_++});
  allocations_.note_tainted(*a);
}

void FailureStore::never_allocated(Allocation& allocation, const Error& error, StreamId stream) {
  allocation.never = Claim{0, allocation.bytes, error, stream, next_sequence_++};
  allocations_.note_tainted(allocation);
}

void FailureStore::written(const Binding& binding) {
  if (Allocation* a = allocations_.find(binding.allocation)) {
    const bool all = defect(Defect::claim_too_wide);
    a->claims.clear(all ? 0 : binding.offset, all ? a->bytes : binding.offset + binding.bytes);
  }
}

void FailureStore::log_failure(std::span<const Binding> writes, const Error& error, StreamId stream,
                               bool replaces) {
  if (log_.empty() || defect(Defect::failure_unlogged))
    return;  // nothing before it can still be found to have failed
  LogEntry& entry = log_.append();
  entry.kind = OpKind::failed;
  entry.full_overwrite = replaces;
  entry.stream = stream;
  // Its claims stand already; the entry is there for walks that start before it.
  entry.failure = error;
  for (const Binding& b : writes) {
    entry.writes.push_back({b.allocation, b.offset, b.offset + b.bytes});
  }
}

std::uint32_t FailureStore::take_slot() {
  if (free_slots_.empty()) return LogEntry::no_slot;
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

// Taken before late errors and fault words are looked at: an operation that completes in between
// is left for the next inspection, and so never passes for sound because its error came too late.
void FailureStore::sample_completed() {
  for (std::size_t q = 0; q < completed_.size(); ++q) {
    completed_[q] = driver_.completed(static_cast<driver::QueueId>(q));
  }
  if (!defect(Defect::inspect_one_queue)) clocks_.close_over(completed_);
}

void FailureStore::lose(const Error& error) {
  if (!lost_) lost_ = error;
}

void FailureStore::inspect(const Hooks& hooks) {
  if (!lost_) {
    if (std::optional<Error> lost = driver_.lost()) lose(*lost);
  }
  if (log_.empty()) return;
  if (!defect(Defect::late_after_pop)) sample_completed();
  std::uint64_t first_new = nothing;
  take_late_errors(first_new);
  if (defect(Defect::late_after_pop)) sample_completed();
  if (lost_) {
    void_unfinished(first_new);
  } else {
    read_words(hooks, first_new);
  }
  if (first_new != nothing) propagate(first_new);
  while (!log_.empty()) {
    LogEntry& front = log_.front();
    const bool settled =
        front.inspected || (front.fault_slot == LogEntry::no_slot && retired(front));
    if (!settled) break;
    if (front.staging != LogEntry::no_staging) hooks.release_staging(front.staging);
    log_.pop_front();
  }
}

void FailureStore::take_late_errors(std::uint64_t& first_new) {
  for (const driver::LateError& late : driver_.take_late_errors()) {
    for (std::uint64_t n = log_.front_number(); n < log_.next_number(); ++n) {
      LogEntry& entry = log_.numbered(n);
      if (!(entry.at == Point{late.queue, late.ticket}) || entry.failure) continue;
      entry.failure = late.error;
      first_new = std::min(first_new, n);
    }
  }
}

// What was in flight is void, whatever it had done by then; so is what completed with fault words
// that can no longer be read.
void FailureStore::void_unfinished(std::uint64_t& first_new) {
  for (std::uint64_t n = log_.front_number(); n < log_.next_number(); ++n) {
    LogEntry& entry = log_.numbered(n);
    if (entry.inspected) continue;
    const bool sound = entry.fault_slot == LogEntry::no_slot && retired(entry);
    if (!sound && !entry.failure) {
      entry.failure = *lost_;
      first_new = std::min(first_new, n);
    }
    if (entry.fault_slot != LogEntry::no_slot) free_slots_.push_back(entry.fault_slot);
    entry.inspected = true;
  }
  for (auto& numbers : slots_by_queue_) numbers.clear();
}

void FailureStore::read_words(const Hooks& hooks, std::uint64_t& first_new) {
  for (auto& numbers : slots_by_queue_) {
    while (!numbers.empty()) {
      const std::uint64_t n = numbers.front();
      LogEntry& entry = log_.numbered(n);
      if (!retired(entry)) break;
      numbers.pop_front();
      const driver::FaultWord word = driver_.fault(entry.fault_slot);
      if (word.claim != 0 && !defect(Defect::slot_unread)) {
        if (word.claim == entry.fault_claim && !entry.failure) {
          entry.failure = hooks.explain(entry, word);
          first_new = std::min(first_new, n);
        }
        driver_.clear_fault(entry.fault_slot);
      }
      free_slots_.push_back(entry.fault_slot);
      entry.inspected = true;
    }
  }
}

// From the earliest entry whose failure is new on: entries before it are sound, or were walked
// before, and what they left stands as claims. The walk keeps its own picture of the bytes, since a
// claim that stands now may come from a later operation than the one the walk is at.
void FailureStore::propagate(std::uint64_t from) {
  struct Key {
    std::size_t operator()(AllocationId id) const {
      return std::hash<std::uint64_t>()((std::uint64_t{id.slot} << 32) | id.generation);
    }
  };
  std::unordered_map<AllocationId, Claims, Key> tainted;
  for (std::uint64_t n = from; n < log_.next_number(); ++n) {
    LogEntry& entry = log_.numbered(n);
    // A bad input comes before a failure of the operation's own: what a kernel did with garbage is
    // no root cause.
    std::optional<Error> cause;
    // The first bad input in argument order is named, also where an earlier walk knew another; at
    // the same place the picture of this walk is the better one.
    const std::size_t known = std::min(entry.reads.size(), entry.bad_input + 1);
    for (std::size_t i = 0; i < known && !cause; ++i) {
      const ByteRange& r = entry.reads[i];
      const auto it = tainted.find(r.allocation);
      if (it == tainted.end()) continue;
      if (const Claim* c = it->second.first(r.begin, r.end)) {
        cause = c->error;
        entry.bad_input = i;
      }
    }
    if (!cause) cause = entry.failure;
    entry.failure = cause;  // what its fault word may say later is a consequence
    if (cause) {
      for (const ByteRange& r : entry.writes) {
        Claim claim{r.begin, r.end, *cause, entry.stream, next_sequence_++};
        if (entry.full_overwrite) {
          tainted[r.allocation].set(std::move(claim));
        } else {
          tainted[r.allocation].set_where_clean(claim);
        }
      }
      if (entry.pending != nullptr && !entry.pending->failure) entry.pending->failure = *cause;
    } else if (entry.full_overwrite && !defect(Defect::overwrite_ignored)) {
      for (const ByteRange& r : entry.writes) {
        const auto it = tainted.find(r.allocation);
        if (it != tainted.end()) it->second.clear(r.begin, r.end);
      }
    }
  }
  for (auto& [id, claims] : tainted) {
    Allocation* a = allocations_.find(id);
    if (a == nullptr || a->never) continue;
    for (const Claim& c : claims.all()) set_claim(*a, c);
  }
}

WriteScope::~WriteScope() {
  if (settled_) return;
  fail(Error(ErrorKind::LaunchFailed,
             fmt::format("The {} was given up before it was enqueued.", what_), site_));
}

void WriteScope::succeed() {
  settled_ = true;
  for (const Binding& b : writes_) store_.written(b);
}

void WriteScope::fail_clean(const Error& error) {
  settled_ = true;
  for (const Binding& b : writes_) store_.claim_clean(b, error, stream_);
  store_.log_failure(writes_, error, stream_, false);
}

void WriteScope::fail(const Error& error) {
  settled_ = true;
  for (const Binding& b : writes_) store_.claim(b, error, stream_);
  store_.log_failure(writes_, error, stream_);
}

}  // namespace tessera::server
