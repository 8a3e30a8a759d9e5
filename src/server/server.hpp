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

#include <atomic>
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
#include "server/memory/page_pool.hpp"
#include "server/memory/release_list.hpp"
#include "server/memory/staging_pool.hpp"
#include "server/ordering/ordering.hpp"
#include "server/pending.hpp"

namespace tessera::server {

struct ServerConfig {
  std::uint32_t max_streams = 8;
  std::uint32_t submit_every = 32;  // launches
  std::uint64_t page_bytes = 32u << 20;
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
};

/// Stands in the log for the page of dynamic counts, which is no allocation of a user.
inline constexpr AllocationId counts_allocation{~std::uint32_t{0} - 1, 1};

struct MemoryUsage {
  std::uint64_t live = 0;      // allocations
  std::uint64_t taken = 0;     // bytes of blocks in use
  std::uint64_t reserved = 0;  // bytes of pages
  std::uint32_t pages = 0;
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

  /// What is known now about the bytes.
  std::optional<Error> check(const Binding& binding);
  std::optional<Error> earliest_failure(std::optional<StreamId> stream);
  /// The oldest operation that is in flight; ticket 0 where none is.
  Point oldest() const;
  /// Frees pages that hold nothing. Returns the bytes freed.
  std::uint64_t trim();
  MemoryUsage memory_usage() const;
  std::uint64_t waits() const noexcept { return ordering_.waits(); }
  std::size_t parked() const noexcept { return parked_.size(); }
  std::uint64_t executed() const noexcept { return executed_; }
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

  // server_memory.cpp: making memory, host writes, fills, copies
  void run(const AllocCommand& command);
  void run(const UploadCommand& command);
  void run(const FillCommand& command);
  void run(const CopyCommand& command);
  void run(const FailCommand& command);
  Touch touch(const Binding& binding, bool reads, bool writes);
  template <class Enqueue>
  void write_operation(OpKind kind, const CommandHeader& header, const Binding& to,
                       const Binding* from, std::string_view what, StagingId staging,
                       Enqueue&& enqueue);

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
  PagePool pool_;
  AllocationTable allocations_;
  Ordering ordering_;
  FailureStore failures_;
  FailureStore::Hooks hooks_;
  std::vector<Parked> parked_;
  std::uint64_t executed_ = 0;
  std::uint32_t launches_held_ = 0;  // since the last submit
  std::uint32_t next_claim_ = 1;

  // Room reused by launches.
  std::vector<Binding> reads_, writes_;
  std::vector<Touch> touches_;
  std::vector<driver::Region> regions_;
  std::vector<Block*> scratch_;

  // Dynamic counts: a page of 12-byte slots, each given to one launch, and the kernel that fills
  // them.
  std::optional<KernelRef> count_guard_;
  Block counts_block_;
  std::uint64_t next_count_ = 0;
};

}  // namespace tessera::server
