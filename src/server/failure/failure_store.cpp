// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/failure/failure_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace tessera::server {

FailureStore::FailureStore(driver::Driver& driver, AllocationTable& allocations)
    : driver_(driver), allocations_(allocations) {
  const std::uint32_t slots = driver.properties().fault_slots;
  for (std::uint32_t i = slots; i > 0; --i) free_slots_.push_back(i - 1);
}

std::optional<Error> FailureStore::check(const Binding& binding) {
  Allocation* a = allocations_.find(binding.allocation);
  if (a == nullptr) {
    return Error(ErrorKind::InvalidArgument,
                 "The buffer's memory is not there any more: its last handle is gone.");
  }
  if (a->never) return a->never;
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
  allocations_.for_each([&](Allocation& a) {
    for (const Claim& c : a.claims.all()) {
      if (stream && c.stream != *stream) continue;
      if (first == nullptr || c.sequence < first->sequence) first = &c;
    }
  });
  return first != nullptr ? std::optional<Error>(first->error) : std::nullopt;
}

void FailureStore::claim(const Binding& binding, const Error& error, StreamId stream) {
  Allocation* a = allocations_.find(binding.allocation);
  if (a == nullptr || a->never) return;
  a->claims.set({binding.offset, binding.offset + binding.bytes, error, stream, next_sequence_++});
}

void FailureStore::written(const Binding& binding) {
  if (Allocation* a = allocations_.find(binding.allocation)) {
    a->claims.clear(binding.offset, binding.offset + binding.bytes);
  }
}

void FailureStore::log_failure(std::span<const Binding> writes, const Error& error,
                               StreamId stream) {
  if (log_.empty()) return;  // nothing before it can still be found to have failed
  LogEntry& entry = log_.append();
  entry.kind = OpKind::failed;
  entry.stream = stream;
  entry.failure = error;
  entry.propagated = true;  // its claims stand; the entry is there for walks from further back
  for (const Binding& b : writes) {
    entry.writes.push_back({b.allocation, b.offset, b.offset + b.bytes});
  }
}

std::uint32_t FailureStore::take_slot() {
  if (free_slots_.empty()) return LogEntry::no_slot;
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  ++uninspected_slots_;
  return slot;
}

bool FailureStore::retired(const LogEntry& entry) const {
  return entry.at.ticket == 0 || driver_.completed(entry.at.queue) >= entry.at.ticket;
}

void FailureStore::inspect(const Hooks& hooks) {
  if (log_.empty()) return;
  const std::vector<driver::LateError> late = driver_.take_late_errors();
  for (const driver::LateError& l : late) {
    for (std::size_t i = 0; i < log_.size(); ++i) {
      if (log_[i].at == Point{l.queue, l.ticket} && !log_[i].failure) log_[i].failure = l.error;
    }
  }
  if (const std::optional<Error> lost = driver_.lost()) {
    // What was in flight is void, whatever it had done by then.
    for (std::size_t i = 0; i < log_.size(); ++i) {
      if (!log_[i].failure) log_[i].failure = *lost;
      log_[i].inspected = true;
    }
  } else if (uninspected_slots_ > 0) {
    read_words(hooks);
  }
  for (std::size_t i = 0; i < log_.size(); ++i) {
    if (log_[i].failure && !log_[i].propagated) {
      propagate(i);
      break;
    }
  }
  while (!log_.empty()) {
    LogEntry& front = log_.front();
    const bool settled =
        front.inspected || (front.fault_slot == LogEntry::no_slot && retired(front));
    if (!settled) break;
    if (front.staging != LogEntry::no_staging) hooks.release_staging(front.staging);
    log_.pop_front();
  }
}

void FailureStore::read_words(const Hooks& hooks) {
  for (std::size_t i = 0; i < log_.size() && uninspected_slots_ > 0; ++i) {
    LogEntry& entry = log_[i];
    if (entry.fault_slot == LogEntry::no_slot || entry.inspected || !retired(entry)) continue;
    const driver::FaultWord word = driver_.fault(entry.fault_slot);
    if (word.claim != 0) {
      if (word.claim == entry.fault_claim && !entry.failure) {
        entry.failure = hooks.explain(entry, word);
      }
      driver_.clear_fault(entry.fault_slot);
    }
    free_slots_.push_back(entry.fault_slot);
    entry.inspected = true;
    --uninspected_slots_;
  }
}

void FailureStore::propagate(std::size_t from) {
  // The walk keeps its own picture of the bytes: a claim that stands now may come from a later
  // operation than the one the walk is at.
  struct Key {
    std::size_t operator()(AllocationId id) const {
      return std::hash<std::uint64_t>()((std::uint64_t{id.slot} << 32) | id.generation);
    }
  };
  std::unordered_map<AllocationId, Claims, Key> tainted;
  for (std::size_t i = from; i < log_.size(); ++i) {
    LogEntry& entry = log_[i];
    std::optional<Error> cause = entry.failure;
    if (!cause) {
      for (const ByteRange& r : entry.reads) {
        const auto it = tainted.find(r.allocation);
        if (it == tainted.end()) continue;
        if (const Claim* c = it->second.first(r.begin, r.end)) {
          cause = c->error;
          break;
        }
      }
    }
    entry.propagated = entry.propagated || entry.failure.has_value();
    if (cause) {
      for (const ByteRange& r : entry.writes) {
        tainted[r.allocation].set({r.begin, r.end, *cause, entry.stream, next_sequence_++});
      }
      if (entry.pending != nullptr && !entry.pending->failure) entry.pending->failure = *cause;
    } else if (entry.full_overwrite) {
      for (const ByteRange& r : entry.writes) {
        const auto it = tainted.find(r.allocation);
        if (it != tainted.end()) it->second.clear(r.begin, r.end);
      }
    }
  }
  for (auto& [id, claims] : tainted) {
    Allocation* a = allocations_.find(id);
    if (a == nullptr || a->never) continue;
    for (const Claim& c : claims.all()) a->claims.set(c);
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

void WriteScope::fail(const Error& error) {
  settled_ = true;
  for (const Binding& b : writes_) store_.claim(b, error, stream_);
  store_.log_failure(writes_, error, stream_);
}

}  // namespace tessera::server
