// SPDX-License-Identifier: MIT OR Apache-2.0
// Cube counts that the device computes.
//
// The count is three words in a buffer of the user. Before the launch a kernel of ours checks them
// against the launch's limit and copies them to a page of the driver that indirect launches read
// from. So nothing is read back, a count over the limit is a fault with a launch of its own in the
// log, and the launch behind it depends on the slot as on any bytes.
#include <algorithm>

#include "passes/prepare.hpp"
#include "server/launch/count_guard.hpp"
#include "server/server.hpp"

namespace tessera::server {
namespace {

constexpr std::uint64_t count_bytes = 12;

}  // namespace

LoadedVariant& Server::count_guard() {
  if (!count_guard_) {
    Result<ir::Kernel> kernel = make_count_guard();
    // A fixed kernel: its tracing cannot fail where the tests have passed.
    if (kernel) (void)passes::prepare(*kernel);
    count_guard_ =
        loader_.add(std::make_shared<const ir::Kernel>(kernel ? *std::move(kernel) : ir::Kernel()));
  }
  driver::Variant variant;
  variant.writable = driver_.properties().one_access_per_page ? 0b11 : 0b10;
  return loader_.variant(*count_guard_, variant);
}

Status Server::make_count_page() {
  if (counts_block_.bytes > 0) return {};
  const std::uint64_t stride = std::max<std::uint64_t>(driver_.properties().offset_alignment, 16);
  Result<driver::PageId> page =
      driver_.allocate(driver::PageKind::counts, config_.count_slots * stride);
  if (!page) return page.error();
  counts_page_.id = *page;
  counts_block_.bytes = config_.count_slots * stride;
  return {};
}

Result<driver::Region> Server::enqueue_guard(const LaunchCommand& command, QueueId queue,
                                             const LoadedVariant& guard) {
  if (Status s = make_count_page(); !s) return s.error();
  const std::uint64_t stride = counts_block_.bytes / config_.count_slots;
  const driver::Region slot{counts_page_.id, (next_count_++ % config_.count_slots) * stride,
                            count_bytes};
  const Touch touched[2] = {touch(command.count, true, false), {&counts_block_, slot, false, true}};
  if (Status s = ordering_.before(queue, touched); !s) return s.error();

  const driver::Region bindings[2] = {touched[0].region, slot};
  const std::uint64_t parameters[5] = {command.cubes[0], command.cubes[1], command.cubes[2],
                                       command.count.bytes / 4, 3};
  driver::LaunchDesc launch;
  launch.kernel = guard.id;
  launch.bindings = bindings;
  launch.parameters = parameters;

  LogEntry& entry = failures_.log().append();
  entry.kind = OpKind::launch;
  entry.stream = command.header.stream;
  entry.site = command.header.site;
  entry.kernel = *count_guard_;
  entry.reads.push_back(
      {command.count.allocation, command.count.offset, command.count.offset + command.count.bytes});
  entry.writes.push_back({counts_allocation, slot.offset, slot.offset + slot.bytes});
  entry.parameters.assign(std::begin(parameters), std::end(parameters));
  entry.bound = {command.count.allocation, counts_allocation};
  const std::uint32_t fault_slot = failures_.take_slot();
  arm_fault(entry, launch, fault_slot);
  Result<driver::Ticket> ticket = driver_.launch(queue, launch);
  if (!ticket) {
    failures_.return_slot(fault_slot);
    failures_.log().drop_last();
    return ticket.error();
  }
  entry.at = {queue, *ticket};
  failures_.slot_armed();
  ordering_.after(queue, *ticket, touched);
  return slot;
}

}  // namespace tessera::server
