// SPDX-License-Identifier: MIT OR Apache-2.0
// The one server: what a device does with commands, over any driver.
//
// Every rule is here once and no driver has a copy: ordering (ordering/), failures (failure/),
// memory (memory/), kernels and launches (launch/). This file and server*.cpp are the order in
// which an operation meets those rules: parked? inputs sound? come after whom? enqueue; note who
// touched what; keep it in the log until it has been inspected.
//
// One thread at a time calls it, under the executor's lock. Nothing here waits for the device,
// compiles or runs user code.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "driver/driver.hpp"
#include "server/command.hpp"
#include "server/failure/failure_store.hpp"
#include "server/launch/loader.hpp"
#include "server/memory/allocation_table.hpp"
#include "server/memory/memory.hpp"
#include "server/memory/release_list.hpp"
#include "server/memory/staging_pool.hpp"
#include "server/ordering/ordering.hpp"
#include "server/pending.hpp"

namespace tessera::server {

struct ServerConfig {
  std::uint32_t max_streams = 8;
  std::uint32_t submit_every = 32;  // launches
  MemoryLayout layout;
  PersistentPolicy persistent = PersistentPolicy::windows;
  bool guard = false;               // red zones around buffers, poison where one was
  std::uint64_t count_slots = 256;  // dynamic cube counts that are kept apart
};

/// What clients and server share; every member is thread-safe.
struct Shared {
  StagingPool staging;
  PendingTable pendings;
  ErrorTable errors;
  AllocationIds ids;
  Labels labels;
  ReleaseList releases;
  DroppedReads dropped_reads;
  // Launches that may fault and are not inspected yet, from the moment they are issued: clients
  // hold back before they are more than the driver has fault words.
  std::atomic<std::uint32_t> fault_launches{0};
  // Entries of the in-flight log, for the same purpose.
  std::atomic<std::uint32_t> log_size{0};
  // Parked allocations that wait for memory on its way back.
  std::atomic<std::uint32_t> awaiting_memory{0};
};

/// Stands in the log for the page of dynamic counts, which is no allocation of a user.
inline constexpr AllocationId counts_allocation{~std::uint32_t{0} - 1, 1};
/// Likewise for the server's own copies of ranges that a launch could not be bound to.
inline constexpr std::uint32_t scratch_slot = ~std::uint32_t{0} - 2;

struct MemoryUsage {
  std::uint64_t live = 0;      // allocations
  std::uint64_t taken = 0;     // bytes of blocks in use
  std::uint64_t reserved = 0;  // bytes of pages, those that are on their way back included
};

class Server {
 public:
  Server(driver::Driver& driver, Loader& loader, Shared& shared, const ServerConfig& config);
  ~Server();

  /// Executes the command at the next position.
  void execute(const CommandHeader& command);
  /// Nothing is queued: starts what is held back.
  void idle();
  /// Kernels that parked launches wait for may have become ready.
  void retry_parked() { unpark(); }
  /// Takes in what the device has completed.
  void inspect();
  /// The device is taken for lost: it hangs, or a rule was broken that nothing can be made of.
  void lose(const Error& error);
  /// The sentence for a device that has finished nothing for so long, with what it is at.
  Error describe_hang(std::chrono::nanoseconds after) const;

  /// What is known now about the bytes.
  std::optional<Error> check(const Binding& binding);
  std::optional<Error> earliest_failure(std::optional<StreamId> stream);
  /// The oldest operation that is in flight; ticket 0 where none is.
  Point oldest() const;
  /// Moves what lies in pools of earlier layouts and gives pages that hold nothing back to the
  /// device, at once or when it is done with them. Nothing moves while commands are parked.
  void trim();
  /// Whether a trim after the work in flight would do more than the last one did.
  bool trim_would_help() const noexcept {
    return memory_.retiring() > 0 || (!parked_.empty() && memory_.has_outdated());
  }
  MemoryUsage memory_usage() const;
  MemoryReport memory_report() const;
  /// InvalidArgument, with what is wrong: then the layout stays.
  Status install(const MemoryLayout& layout) { return memory_.install(layout); }
  /// Allocations that wait for memory on its way back.
  std::uint32_t awaiting_memory() const noexcept {
    return shared_.awaiting_memory.load(std::memory_order_relaxed);
  }
  bool awaiting_memory(AllocationId id) {
    const Allocation* a = allocations_.find(id);
    return a != nullptr && a->awaiting;
  }
  /// Red zones that were found overwritten.
  std::uint64_t damaged_zones() const noexcept { return damaged_zones_; }
  /// Queues that were given work, as numbers of streams that map to them.
  std::vector<StreamId> used_queues() const;
  /// Keeps the allocation where it is until it is let go as often. False where it is not there.
  bool pin(AllocationId id);
  void unpin(AllocationId id);
  /// Where the bytes are now; no page for a buffer without memory.
  driver::Region place(const Binding& binding);
  std::uint64_t waits() const noexcept { return ordering_.waits(); }
  std::size_t parked() const noexcept { return parked_.size(); }
  std::uint64_t executed() const noexcept { return executed_; }
  /// The command that is being executed, or null.
  const CommandHeader* running() const noexcept { return running_; }
  QueueId queue_of(StreamId stream) const {
    return static_cast<QueueId>(stream % config_.max_streams % ordering_.queues());
  }

 private:
  struct Parked {
    std::vector<std::byte> bytes;  // the command
    std::vector<driver::Region> regions;
    const CommandHeader& header() const {
      return *reinterpret_cast<const CommandHeader*>(bytes.data());
    }
  };

  // server.cpp
  void dispatch(const CommandHeader& command);
  void run(const CommandHeader& command);
  void refuse_lost(const CommandHeader& command);
  void apply_releases();
  void give_back_reads(PendingState& pending);
  void release(AllocationId id);
  void forget(Allocation& a);
  bool must_park(const CommandHeader& command);
  bool touches(const CommandHeader& command, std::span<const driver::Region> regions);
  void park(const CommandHeader& command);
  void unpark();
  template <class F>
  static void each_binding(const CommandHeader& command, F&& f);

  // server_memory.cpp: making memory, host writes, fills, copies. Of the first: false where memory
  // is on its way back, which the command has to wait for.
  bool run(const AllocCommand& command);
  void run(const AccountCommand& command);
  void run(const UploadCommand& command);
  void run(const FillCommand& command);
  void run(const CopyCommand& command);
  void run(const FailCommand& command);
  Touch touch(const Binding& binding, bool reads, bool writes);
  template <class Enqueue>
  void write_operation(OpKind kind, const CommandHeader& header, const Binding& to,
                       const Binding* from, std::string_view what, StagingId staging,
                       Enqueue&& enqueue);

  // server_guard.cpp
  std::uint64_t zone() const noexcept;
  void fill_own(const Allocation& a, std::uint64_t offset, std::uint64_t bytes,
                std::uint64_t pattern);
  void paint_zones(Allocation& a);
  void check_zones(const Allocation& a);
  void read_zones();

  // An operation of the server's own: ordered and logged like any, with nothing to claim.
  template <class Enqueue>
  Result<LogEntry*> own_operation(OpKind kind, QueueId queue, StreamId stream,
                                  std::span<const Touch> touched, Enqueue&& enqueue) {
    if (Status s = ordering_.before(queue, touched); !s) return s.error();
    const Result<driver::Ticket> ticket = enqueue();
    if (!ticket) return ticket.error();
    ordering_.after(queue, *ticket, touched);
    LogEntry& entry = failures_.log().append();
    entry.kind = kind;
    entry.at = {queue, *ticket};
    entry.stream = stream;
    entry.full_overwrite = false;
    return &entry;
  }

  // server_relocation.cpp
  void relocate();
  bool relocate_page(std::span<Block* const> blocks);
  bool move(Block& from, Block& to);

  // server_wait.cpp: reads and syncs
  void run(const ReadCommand& command);
  void run(const SyncCommand& command);

  // server_launch.cpp. False: its kernel is not ready, nothing was done.
  bool run(const LaunchCommand& command);
  void collect_accesses(const LaunchCommand& command, const KernelEntry& kernel);
  std::optional<Error> first_failed_input(const LaunchCommand& command);
  driver::Variant variant_for(const LaunchCommand& command, const KernelEntry& kernel) const;
  Status enqueue_launch(const LaunchCommand& command, const KernelEntry& kernel,
                        const LoadedVariant& variant, const LoadedVariant* guard,
                        std::uint32_t& unused_slots);
  Status separate_overlaps(QueueId queue, const LaunchCommand& command, const KernelEntry& kernel,
                           const driver::Variant& variant);

  // server_count.cpp: cube counts that the device computes
  LoadedVariant& count_guard();
  Result<driver::Region> enqueue_guard(const LaunchCommand& command, QueueId queue,
                                       const LoadedVariant& guard);
  Status make_count_page();

  // server_fault.cpp
  Error explain_fault(const LogEntry& entry, const driver::FaultWord& word) const;
  void arm_fault(LogEntry& entry, driver::LaunchDesc& launch, std::uint32_t slot);

  driver::Driver& driver_;
  Loader& loader_;
  Shared& shared_;
  ServerConfig config_;
  Memory memory_;
  AllocationTable allocations_;
  Ordering ordering_;
  FailureStore failures_;
  FailureStore::Hooks hooks_;
  std::vector<Parked> parked_;
  bool unparking_ = false;  // some that were parked are not in parked_ now
  std::uint64_t executed_ = 0;
  const CommandHeader* running_ = nullptr;
  std::uint32_t launches_held_ = 0;  // since the last submit
  std::uint32_t next_claim_ = 1;

  // Room reused by launches.
  std::vector<Binding> reads_, writes_;
  std::vector<Touch> touches_;
  std::vector<driver::Region> regions_;
  std::vector<Block*> scratch_;
  std::vector<ByteRange> scratch_reads_;
  std::uint32_t next_scratch_ = 1;

  struct ZoneCheck {
    std::string name;
    Point at;
    std::array<driver::ReadId, 2> reads{};
    std::array<std::uint64_t, 2> bytes{};
  };
  std::vector<ZoneCheck> zone_checks_;
  std::uint64_t damaged_zones_ = 0;

  // Dynamic counts: a page of 12-byte slots, each given to one launch, and the kernel that fills
  // them.
  std::optional<KernelRef> count_guard_;
  Page counts_page_;
  Block counts_block_;
  std::uint64_t next_count_ = 0;
};

}  // namespace tessera::server
