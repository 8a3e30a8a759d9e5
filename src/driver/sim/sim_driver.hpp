// SPDX-License-Identifier: MIT OR Apache-2.0
// The simulator as a class, for tests that ask what it found.
//
// Nothing runs when it is enqueued. Work that was submitted is moved on by completed(), submit()
// and wait_host(), an operation at a time, from queues drawn from the seed among those whose head
// may run; so one thread gets one interleaving per seed, the same every time. A broken rule of the
// contract is a violation: recorded, logged once, and never a reason to stop.
//
// What counts as known to the host, and so orders later operations after it: tickets that
// completed() or wait_host() reported, with everything that came before them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "driver/driver.hpp"
#include "driver/sim/sim.hpp"
#include "driver/sim/sim_accesses.hpp"
#include "driver/sim/sim_pages.hpp"

namespace tessera::driver {

class SimDriver : public Driver {
 public:
  explicit SimDriver(const SimOptions& options);

  /// Rules of the contract that were broken, at most 256, in the order in which they were found.
  std::vector<std::string> violations() const;  // [any thread]
  /// Operations in the order in which they ran. Empty with `instant`.
  std::vector<OpId> history() const;  // [any thread]

  // For tests that arrange what happens when. All [any thread].
  /// Lets nothing of the queue run until it is released.
  void hold(QueueId queue);
  void release(QueueId queue);
  void plan(SimFaultAt fault);
  void stop_drawing_faults();
  std::uint64_t faults_injected() const;
  std::uint64_t calls(SimCall call) const;  // so far
  void set_memory_limit(std::uint64_t bytes);
  std::uint64_t memory_in_use() const;
  /// The device is gone, as if it had been unplugged.
  void lose(std::string why);

  const Properties& properties() const noexcept override { return properties_; }
  Result<PageId> allocate(PageKind kind, std::uint64_t bytes) override;
  void free(PageId page) override;
  std::uint64_t native(PageId page) const override;
  Result<Image> compile(std::shared_ptr<const ir::Kernel> kernel,
                        const Variant& variant) const override;
  Result<KernelId> load(const Image& image) override;
  void unload(KernelId kernel) override;
  Result<Ticket> launch(QueueId queue, const LaunchDesc& launch) override;
  Result<Ticket> copy(QueueId queue, Region from, Region to) override;
  Result<Ticket> copy_rows(QueueId queue, Region from, std::uint64_t from_pitch, Region to,
                           std::uint64_t to_pitch, std::uint64_t row) override;
  Result<Ticket> fill(QueueId queue, Region to, std::uint64_t pattern, int width) override;
  Result<Ticket> upload(QueueId queue, std::span<const std::byte> from, Region to) override;
  Result<Download> download(QueueId queue, Region from) override;
  Status take_read(ReadId read, std::span<std::byte> to) override;
  void drop_read(ReadId read) override;
  Status wait(QueueId queue, QueueId other, Ticket ticket) override;
  Status submit(QueueId queue) override;
  Ticket completed(QueueId queue) const noexcept override;
  Result<bool> wait_host(QueueId queue, Ticket ticket, Deadline deadline) override;
  FaultWord fault(std::uint32_t slot) const override;
  void clear_fault(std::uint32_t slot) override;
  std::vector<LateError> take_late_errors() override;
  std::optional<Error> lost() const override;

 private:
  struct Target {
    std::shared_ptr<Page> page;
    Region region;
    std::span<std::byte> bytes() const { return page->bytes(region); }
    std::span<std::uint8_t> flags() const { return page->flags(region); }
  };
  // Stands in for bindings of no bytes.
  const std::shared_ptr<Page> nothing_ = Page::make(~PageId{0}, PageKind::device, 1, false, false);
  struct Loaded {
    std::shared_ptr<const ir::Kernel> kernel;
    Variant variant;
    Clock users;
  };
  enum class Kind : std::uint8_t { launch, copy, fill, upload, download };
  struct Operation {
    Kind kind{};
    OpId id;
    Clock clock;
    std::vector<OpId> waits;
    std::vector<Target> targets;  // bindings; copy: from, to; else the one region
    std::shared_ptr<const ir::Kernel> kernel;
    std::vector<std::uint64_t> parameters;
    Cubes cubes{};
    std::optional<Target> indirect;
    bool wide_index = false;
    std::uint32_t fault_slot = ir::none, fault_claim = 0;
    std::uint64_t pattern = 0;
    int width = 0;
    std::uint64_t row = 0, from_pitch = 0, to_pitch = 0;  // of a copy; 0: all bytes in one row
    std::span<const std::byte> from;
    ReadId read = 0;
    std::optional<SimFault> fault;
    std::uint64_t fault_number = 0;
  };
  struct Queue {
    std::deque<Operation> pending;
    std::vector<OpId> waits;  // for the next operation
    Clock clock;              // of what the next operation comes after
    Ticket issued = 0, submitted = 0;
    std::atomic<Ticket> done{0};
    Ticket told = 0;  // what completed() says
    bool held = false;
    std::vector<Clock> clocks;      // by ticket - 1; kept while checking
    std::vector<std::string> what;  // the same: "launch of 'saxpy'"
  };
  struct Read {
    OpId op;
    std::vector<std::byte> bytes;
  };

  // sim_driver.cpp
  Error refuse(std::string sentence);
  std::optional<Error> injected(SimCall call, std::optional<SimFault>& operation,
                                std::uint64_t& fault_number) const;
  std::optional<Error> injected(SimCall call) const;
  void lose_now(std::string why) const;
  void violation(std::string sentence) const;
  Result<Target> target(const Region& region, const char* use);
  Result<Ticket> enqueue(QueueId queue, Operation op, std::string what);
  Status known_queue(QueueId queue);
  Status check_launch(const LaunchDesc& launch, const Loaded& loaded,
                      const std::vector<Target>& targets, const std::optional<Target>& counts);
  bool host_knows(const Clock& users) const;
  std::string describe(OpId id) const;

  // sim_execute.cpp
  bool runnable(const Queue& queue) const;
  bool advance() const;
  void some_steps(std::uint32_t most) const;
  void observe(QueueId queue, Ticket ticket) const;
  void execute(const Operation& op);
  void execute_launch(const Operation& op);
  void touch(const Operation& op, const Target& target, bool writes);
  void need_written(const Operation& op, const Target& target);
  void mark_written(const Target& target);
  void spoil(const Operation& op);
  void check_observed(const Operation& op, const std::vector<ir::Access>& observed);

  const SimOptions options_;
  Properties properties_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::mt19937_64 random_;
  mutable std::vector<std::string> violations_;
  mutable Clock known_to_host_;
  std::unique_ptr<Queue[]> queues_;
  std::vector<OpId> history_;
  std::unordered_map<PageId, std::shared_ptr<Page>> pages_;
  std::unordered_map<KernelId, Loaded> kernels_;
  std::map<ReadId, Read> reads_;
  std::vector<FaultWord> faults_;
  std::vector<LateError> late_errors_;
  mutable SimFaultPlan faults_plan_;
  mutable std::optional<Error> lost_;
  std::uint64_t memory_limit_ = 0;
  std::uint64_t used_ = 0;
  PageId next_page_ = 1;
  KernelId next_kernel_ = 1;
  ReadId next_read_ = 1;
};

}  // namespace tessera::driver
