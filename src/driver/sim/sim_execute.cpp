// SPDX-License-Identifier: MIT OR Apache-2.0
// Time in the simulator: which operation runs next, and what running it means.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "driver/sim/sim_driver.hpp"
#include "ir/interpreter.hpp"

namespace tessera::driver {

bool SimDriver::runnable(const Queue& queue) const {
  if (queue.pending.empty() || queue.held || lost_) return false;
  const Operation& op = queue.pending.front();
  if (op.id.ticket > queue.submitted || op.fault == SimFault::hang) return false;
  return std::all_of(op.waits.begin(), op.waits.end(), [&](OpId w) {
    return queues_[w.queue].done.load(std::memory_order_relaxed) >= w.ticket;
  });
}

// Runs one operation of a queue drawn among those that can go on. The device's own progress is no
// change that callers of const members could see but through completed(), whose duty it is.
bool SimDriver::advance() const {
  std::array<QueueId, 256> ready;
  std::uint32_t count = 0;
  for (std::uint32_t q = 0; q < properties_.queues; ++q) {
    if (runnable(queues_[q])) ready[count++] = static_cast<QueueId>(q);
  }
  if (count == 0) return false;
  auto* self = const_cast<SimDriver*>(this);
  const QueueId q = ready[random_() % count];
  Queue& queue = self->queues_[q];
  const Operation op = std::move(queue.pending.front());
  queue.pending.pop_front();
  if (op.fault == SimFault::trap) {
    lose_now(fmt::format("{} trapped: illegal address.", describe(op.id)));
    return true;
  }
  self->execute(op);
  self->history_.push_back(op.id);
  queue.done.store(op.id.ticket, std::memory_order_release);
  changed_.notify_all();
  return true;
}

void SimDriver::some_steps(std::uint32_t most) const {
  for (auto n = random_() % (most + 1); n != 0 && advance(); --n) {
  }
}

void SimDriver::observe(QueueId queue, Ticket ticket) const {
  const Queue& q = queues_[queue];
  if (ticket >= 1 && ticket <= q.clocks.size() && ticket > known_to_host_[queue]) {
    join(known_to_host_, q.clocks[ticket - 1]);
  }
}

Status SimDriver::wait(QueueId queue, QueueId other, Ticket ticket) {
  const std::lock_guard lock(mutex_);
  if (auto s = known_queue(queue); !s) return s.error();
  if (auto s = known_queue(other); !s) return s.error();
  if (auto e = injected(SimCall::wait)) return *e;
  if (ticket > queues_[other].issued) {
    return refuse(
        fmt::format("Queue {} was told to wait for operation {} of queue {}, which has only "
                    "{}.",
                    queue, ticket, other, queues_[other].issued));
  }
  if (ticket == 0 || options_.instant || queue == other) return {};
  queues_[queue].waits.push_back({other, ticket});
  join(queues_[queue].clock, queues_[other].clocks[ticket - 1]);
  return {};
}

Status SimDriver::submit(QueueId queue) {
  const std::lock_guard lock(mutex_);
  if (auto s = known_queue(queue); !s) return s.error();
  if (auto e = injected(SimCall::submit)) return *e;
  queues_[queue].submitted = queues_[queue].issued;
  if (options_.instant) return {};
  changed_.notify_all();
  some_steps(2);
  return {};
}

Ticket SimDriver::completed(QueueId queue) const noexcept {
  if (queue >= properties_.queues) return 0;
  const Queue& q = queues_[queue];
  if (options_.instant) return q.done.load(std::memory_order_acquire);
  const std::lock_guard lock(mutex_);
  some_steps(3);
  Ticket& told = const_cast<Queue&>(q).told;
  if (!options_.late_news || random_() % 4 != 0) told = q.done.load(std::memory_order_relaxed);
  observe(queue, told);
  return told;
}

Result<bool> SimDriver::wait_host(QueueId queue, Ticket ticket, Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (auto s = known_queue(queue); !s) return s.error();
  Queue& q = queues_[queue];
  if (ticket > q.issued) {
    return refuse(fmt::format("The host waited for operation {} of queue {}, which has only {}.",
                              ticket, queue, q.issued));
  }
  const auto patience = std::chrono::steady_clock::now() + options_.patience;
  while (q.done.load(std::memory_order_relaxed) < ticket) {
    if (lost_) return *lost_;
    const bool moved = advance();  // even a deadline in the past gets its step
    if (q.done.load(std::memory_order_relaxed) >= ticket) break;
    if (deadline && std::chrono::steady_clock::now() >= *deadline) return false;
    if (moved || lost_) continue;
    // Only another thread can help now.
    const auto until = deadline ? *deadline : patience;
    if (changed_.wait_until(lock, until) == std::cv_status::timeout && !deadline) {
      return refuse(
          fmt::format("The host waits for {}, which can never complete: it, or what it "
                      "waits for, was not submitted within {} ms.",
                      describe({queue, ticket}), options_.patience.count()));
    }
  }
  q.told = std::max(q.told, ticket);
  observe(queue, ticket);
  return true;
}

// What operations do

void SimDriver::touch(const Operation& op, const Target& target, bool writes) {
  if (options_.instant) return;
  const std::uint64_t begin = target.region.offset, end = begin + target.region.bytes;
  const auto clash = target.page->accesses.touch(begin, end, writes, op.id, op.clock);
  if (!clash) return;
  violation(fmt::format(
      "{} {} bytes {} to {} of page {}, which {} {}, and neither waits for the "
      "other.",
      describe(op.id), writes ? "writes" : "reads", clash->begin, clash->end, target.page->id,
      describe(clash->other), clash->other_writes ? "writes" : "reads"));
}

void SimDriver::need_written(const Operation& op, const Target& target) {
  const auto flags = target.flags();
  const auto it = std::find(flags.begin(), flags.end(), std::uint8_t{0});
  if (it == flags.end()) return;
  violation(fmt::format("{} reads byte {} of page {}, which nothing wrote.", describe(op.id),
                        target.region.offset + static_cast<std::uint64_t>(it - flags.begin()),
                        target.page->id));
}

void SimDriver::mark_written(const Target& target) {
  const auto flags = target.flags();
  std::fill(flags.begin(), flags.end(), std::uint8_t{1});
}

// An operation that failed late: how far it came is not known, so what it should write counts as
// written and holds garbage.
void SimDriver::spoil(const Operation& op) {
  const auto writes = [&](const Target& t) {
    touch(op, t, true);
    std::ranges::fill(t.bytes(), std::byte{0xa5});
    mark_written(t);
  };
  switch (op.kind) {
    case Kind::launch:
      for (std::size_t i = 0; i < op.targets.size(); ++i) {
        const auto access = static_cast<unsigned>(op.kernel->bindings[i].analysed);
        if ((access & static_cast<unsigned>(ir::Access::in)) != 0) touch(op, op.targets[i], false);
        if ((access & static_cast<unsigned>(ir::Access::out)) != 0) writes(op.targets[i]);
      }
      return;
    case Kind::copy:
      touch(op, op.targets[0], false);
      return writes(op.targets[1]);
    case Kind::fill:
    case Kind::upload:
      return writes(op.targets[0]);
    case Kind::download: {
      touch(op, op.targets[0], false);
      const auto it = reads_.find(op.read);
      if (it != reads_.end()) it->second.bytes.assign(op.targets[0].region.bytes, std::byte{0xa5});
      return;
    }
  }
}

void SimDriver::execute(const Operation& op) {
  if (op.fault == SimFault::late) {
    spoil(op);
    late_errors_.push_back(
        {op.id.queue, op.id.ticket,
         Error(ErrorKind::LaunchFailed,
               fmt::format("Injected fault {} spoiled {}.", op.fault_number, describe(op.id)))});
    return;
  }
  switch (op.kind) {
    case Kind::launch:
      return execute_launch(op);
    case Kind::copy: {
      const Target &from = op.targets[0], &to = op.targets[1];
      touch(op, from, false);
      touch(op, to, true);
      const std::uint64_t row = op.row != 0 ? op.row : from.region.bytes;
      for (std::uint64_t a = 0, b = 0; a < from.region.bytes;
           a += std::max(op.from_pitch, row), b += std::max(op.to_pitch, row)) {
        std::ranges::copy(from.bytes().subspan(a, row), to.bytes().begin() + static_cast<long>(b));
        // Bytes that nobody wrote stay so where they are copied to.
        if (!from.flags().empty() && !to.flags().empty()) {
          std::ranges::copy(from.flags().subspan(a, row),
                            to.flags().begin() + static_cast<long>(b));
        }
      }
      return;
    }
    case Kind::fill: {
      const Target& to = op.targets[0];
      touch(op, to, true);
      const auto bytes = to.bytes();
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        const auto shift = i % static_cast<std::size_t>(op.width) * 8;
        bytes[i] = static_cast<std::byte>(op.pattern >> shift);
      }
      return mark_written(to);
    }
    case Kind::upload:
      touch(op, op.targets[0], true);
      std::ranges::copy(op.from, op.targets[0].bytes().begin());
      return mark_written(op.targets[0]);
    case Kind::download: {
      touch(op, op.targets[0], false);
      need_written(op, op.targets[0]);
      const auto it = reads_.find(op.read);
      if (it == reads_.end()) return;  // dropped meanwhile
      const auto bytes = op.targets[0].bytes();
      it->second.bytes.assign(bytes.begin(), bytes.end());
      return;
    }
  }
}

void SimDriver::execute_launch(const Operation& op) {
  ir::RunOptions run;
  run.cubes = op.cubes;
  run.wide_index = op.wide_index;
  run.find_races = !options_.instant && options_.find_races;
  run.find_unwritten = !options_.instant && options_.find_unwritten;
  if (op.indirect) {
    Target counts = *op.indirect;
    counts.region.bytes = sizeof(run.cubes);
    touch(op, counts, false);
    need_written(op, counts);
    std::memcpy(run.cubes.data(), counts.bytes().data(), sizeof(run.cubes));
    for (int axis = 0; axis < 3; ++axis) {
      if (run.cubes[axis] > properties_.max_cubes[axis]) return;  // as indirect dispatches do
    }
  }
  std::vector<ir::BufferView> views;
  for (const Target& t : op.targets) views.push_back({t.bytes(), t.flags()});
  const auto outcome = ir::run(*op.kernel, views, op.parameters, run);
  if (!outcome) {
    late_errors_.push_back({op.id.queue, op.id.ticket, outcome.error()});
    return spoil(op);
  }
  check_observed(op, outcome->observed);
  for (const ir::Finding& finding : outcome->findings) {
    violation(fmt::format("{}: {}", describe(op.id), finding.message));
  }
  if (!outcome->fault) return;
  if (op.fault_slot == ir::none) {
    return violation(fmt::format("{} faulted at site {} but was launched without a fault slot.",
                                 describe(op.id), outcome->fault->site));
  }
  // Units that faulted left bytes unwritten; whoever reads them before that is known reads garbage
  // that nobody hands out.
  for (std::size_t i = 0; i < op.targets.size(); ++i) {
    const auto access = static_cast<unsigned>(op.kernel->bindings[i].analysed);
    if ((access & static_cast<unsigned>(ir::Access::out)) != 0) mark_written(op.targets[i]);
  }
  FaultWord& word = faults_[op.fault_slot];
  if (word.claim == 0) word = {op.fault_claim, outcome->fault->site, outcome->fault->index};
}

// What a kernel did, ordered against other operations and held against its analysis.
void SimDriver::check_observed(const Operation& op, const std::vector<ir::Access>& observed) {
  if (options_.instant) return;
  for (std::size_t i = 0; i < op.targets.size(); ++i) {
    const auto did = static_cast<unsigned>(observed[i]);
    const ir::BindingParam& param = op.kernel->bindings[i];
    const unsigned beyond = did & ~static_cast<unsigned>(param.analysed);
    if (beyond != 0) {
      violation(
          fmt::format("{} {} binding {} ('{}'), which its analysis rules out.", describe(op.id),
                      (beyond & static_cast<unsigned>(ir::Access::out)) != 0 ? "writes" : "reads",
                      i, param.name));
    }
    if ((did & static_cast<unsigned>(ir::Access::in)) != 0) touch(op, op.targets[i], false);
    if ((did & static_cast<unsigned>(ir::Access::out)) != 0) touch(op, op.targets[i], true);
  }
}

}  // namespace tessera::driver
