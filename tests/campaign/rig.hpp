// SPDX-License-Identifier: MIT OR Apache-2.0
// A server on the simulator without threads: what clients and the executor do, one step at a time,
// in an order that a seed decides.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "campaign/program.hpp"
#include "campaign/record.hpp"
#include "driver/sim/sim_driver.hpp"
#include "server/command_writer.hpp"
#include "server/defects.hpp"
#include "server/server.hpp"

namespace tessera::campaign {

/// Of every dynamic launch.
inline constexpr std::array<std::uint32_t, 3> at_most{6, 1, 1};

class Rig {
 public:
  Rig(const Program& program, server::Defect defect);
  ~Rig();
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  /// Runs the program to its end, lets everything go and looks for what is left over.
  Record run();

 private:
  struct Buffer {
    bool live = false;
    server::AllocationId id;
    std::uint16_t size = 0;
    std::vector<bool> written;  // as far as the program goes, failures apart
  };
  struct Waiting {
    std::size_t op;
    std::shared_ptr<server::PendingState> state;
    std::vector<std::uint64_t> counts;
  };

  bool issue(std::size_t index, const Op& op);
  bool launch(const Op& op, bool dynamic);
  bool in_bounds(const Range& r) const;
  bool written(const Range& r) const;
  void mark(const Range& r);
  server::Binding binding(const Range& r, server::Access access) const;
  void refuse(const std::vector<Range>& ranges, SourceLoc site);
  void drop(std::uint8_t slot);
  void push(const server::CommandHeader& command);
  void execute_one();
  void note_refused_allocations();
  bool progress();
  void execute_all();
  bool wait_enqueued(server::PendingState& state);
  void settle(const Waiting& waiting);
  void sync(std::size_t index, const Op& op);
  std::optional<Error> wait(server::PendingState& state);
  void finish();

  const Program& program_;
  SourceLoc site_;
  std::mt19937_64 random_;
  Record record_;
  std::unique_ptr<driver::SimDriver> sim_;
  std::unique_ptr<server::Shared> shared_;
  std::unique_ptr<server::Loader> loader_;
  std::unique_ptr<server::Server> server_;
  std::deque<std::vector<std::byte>> ring_;
  std::uint64_t issued_ = 0;  // commands
  int patience_ = 1000;       // rounds without any progress
  std::array<Buffer, buffer_slots> buffers_;
  std::deque<Waiting> waiting_;
  std::vector<std::pair<std::size_t, server::Binding>> making_;  // allocations not made yet
};

}  // namespace tessera::campaign
