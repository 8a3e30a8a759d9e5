// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/memory/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "server/defects.hpp"
#include "server/memory/adaptive_pool.hpp"
#include "server/memory/direct_pool.hpp"

namespace tessera::server {
namespace {

DeviceLimits limits_of(const driver::Properties& properties) {
  // More than any device has; drivers without a limit of their own say numbers with which sums of
  // sizes would not be safe, and free lists end above it.
  constexpr std::uint64_t most = std::uint64_t{1} << 46;
  DeviceLimits limits;
  limits.alignment = properties.offset_alignment;
  limits.page_limit = std::min(properties.page_limit, most) & ~(limits.alignment - 1);
  return limits;
}

}  // namespace

Memory::Memory(driver::Driver& driver, const MemoryLayout& layout, PersistentPolicy policy,
               std::uint64_t extra)
    : limits_(limits_of(driver.properties())), policy_(policy), extra_(extra), store_(driver) {
  Result<std::vector<PoolSpec>> specs = resolve(layout, limits_);
  if (!specs) specs = resolve(MemoryLayout(), limits_);
  pools_ = make_pools(*specs, store_, limits_);
  persistent_ = std::make_unique<DirectPool>(store_, limits_.alignment, limits_.page_limit, 0,
                                             DirectPool::Use::persistent);
  scratch_ = std::make_unique<AdaptivePool>(store_, limits_.alignment, limits_.page_limit, 0);
}

Memory::~Memory() = default;

Memory::Account& Memory::account(StreamId stream) {
  if (last_account_ == nullptr || last_stream_ != stream) {
    last_account_ = &accounts_[stream];
    last_stream_ = stream;
  }
  return *last_account_;
}

bool Memory::wants_persistent(const Account& account) const noexcept {
  return policy_ == PersistentPolicy::enforced ||
         (policy_ == PersistentPolicy::windows && account.persistent != 0);
}

Result<Block*> Memory::take(std::uint64_t bytes, StreamId stream, Mapping mapping) {
  assert(bytes != 0);
  device_full_ = false;
  if (bytes > limits_.page_limit) return no_pool(bytes);
  Account& account = this->account(stream);
  const std::uint64_t held = account.bytes + account.padding;
  const std::uint64_t least = (bytes + limits_.alignment - 1) & ~(limits_.alignment - 1);
  if (account.cap != 0 && (held > account.cap || least > account.cap - held)) {
    return over_cap(bytes, stream, account);
  }
  Result<Block*> placed = place(bytes, account, mapping);
  if (!placed) return placed;
  Block* block = *placed;
  if (account.cap != 0 && block->bytes > account.cap - held) {
    // The pool reuses a page that is larger than it need be, and the cap counts what is held.
    block->page->pool->give_back(block);
    return over_cap(bytes, stream, account);
  }
  block->stream = stream;
  account.live += 1;
  account.bytes += bytes;
  account.padding += block->bytes - bytes;
  account.peak = std::max(account.peak, held + block->bytes);
  taken_ += block->bytes;
  return placed;
}

// Which pool serves a request follows from the request and from which pools are full, both of
// which the order of requests decides.
Result<Block*> Memory::place(std::uint64_t bytes, const Account& account, Mapping mapping) {
  Result<Block*> block = place_whole(bytes + extra_, account, mapping);
  if (extra_ != 0 && block) (*block)->page->pool->count_as_padding(**block, extra_);
  return block;
}

Result<Block*> Memory::place_whole(std::uint64_t bytes, const Account& account, Mapping mapping) {
  if (wants_persistent(account)) {
    Result<Block*> block = persistent_->take(bytes, mapping);
    if (!block && block.error().kind() == ErrorKind::OutOfMemory) {
      device_full_ = true;
      return no_room(bytes, block.error());
    }
    return block;
  }
  bool full = false;
  for (const auto& pool : pools_) {
    if (!pool->accepts(bytes)) continue;
    Result<Block*> block = pool->take(bytes, mapping);
    if (!block) {
      device_full_ = block.error().kind() == ErrorKind::OutOfMemory;
      const bool later = full || device_full_;
      return later ? no_room(bytes, block.error()) : std::move(block);
    }
    if (*block != nullptr) return block;
    full = true;
  }
  return full ? over_capacity(bytes) : no_pool(bytes);
}

Result<Block*> Memory::take_for_move(const Block& block) {
  Account& account = this->account(block.stream);
  Result<Block*> placed = place(block.requested, account, Mapping::eager);
  if (!placed) return placed;
  (*placed)->stream = block.stream;
  (*placed)->owner = block.owner;
  account.live += 1;
  account.bytes += block.requested;
  account.padding += (*placed)->bytes - block.requested;
  taken_ += (*placed)->bytes;
  return placed;
}

void Memory::give_back(Block* block) {
  if (defect(Defect::reuse_early)) block->record = AccessRecord();
  block->owner = AllocationId();
  Account& account = this->account(block->stream);
  account.live -= 1;
  account.bytes -= block->requested;
  account.padding -= block->bytes - block->requested;
  taken_ -= block->bytes;
  const bool last = block->page->taken == 1;
  block->page->pool->give_back(block);
  if (last && !outdated_.empty()) drop_drained();
}

void Memory::drop_drained() {
  std::erase_if(outdated_, [](const std::unique_ptr<Pool>& pool) { return pool->empty(); });
}

Status Memory::map(Block& block) {
  Status mapped = store_.map(*block.page);
  if (!mapped && mapped.error().kind() == ErrorKind::OutOfMemory) {
    return no_room(block.requested, mapped.error());
  }
  return mapped;
}

Status Memory::install(const MemoryLayout& layout) {
  const Result<std::vector<PoolSpec>> specs = resolve(layout, limits_);
  if (!specs) return specs.error();
  for (auto& pool : pools_) {
    pool->drain();
    if (!pool->empty()) outdated_.push_back(std::move(pool));
  }
  pools_ = make_pools(*specs, store_, limits_);
  persistent_->restart_peaks();
  store_.restart_peak();
  return {};
}

void Memory::for_each_outdated(const std::function<void(Block&)>& f) {
  std::vector<Block*> blocks;
  for (const auto& pool : outdated_) {
    pool->for_each_taken([&](Block& block) { blocks.push_back(&block); });
  }
  for (Block* block : blocks) f(*block);
}

void Memory::open_persistent(StreamId stream) {
  account(stream).persistent += 1;
}

void Memory::close_persistent(StreamId stream) {
  const auto found = accounts_.find(stream);
  if (found != accounts_.end() && found->second.persistent != 0) found->second.persistent -= 1;
}

void Memory::set_cap(StreamId stream, std::uint64_t bytes) {
  if (bytes != 0 || accounts_.count(stream) != 0) account(stream).cap = bytes;
}

std::uint64_t Memory::release_free() {
  std::uint64_t released = persistent_->release_free() + scratch_->release_free();
  for (const auto& pool : pools_) released += pool->release_free();
  for (const auto& pool : outdated_) released += pool->release_free();
  return released;
}

MemoryReport Memory::report() const {
  MemoryReport report;
  for (const auto& pool : pools_) report.pools.push_back(pool->report());
  report.pools.push_back(persistent_->report());
  if (PoolReport own = scratch_->report(); own.reserved > 0) {
    own.kind = "the server's own, " + own.kind;
    report.pools.push_back(std::move(own));
  }
  for (const auto& pool : outdated_) {
    report.pools.push_back(pool->report());
    report.pools.back().outdated = true;
  }
  for (const PoolReport& pool : report.pools) {
    report.live += pool.live;
    report.bytes += pool.bytes;
    report.padding += pool.padding;
  }
  report.reserved = store_.reserved();
  report.peak = store_.peak();
  report.unmapped = store_.unmapped();
  report.retiring = store_.retiring();
  for (const auto& [stream, a] : accounts_) {
    report.streams.push_back({stream, a.live, a.bytes, a.padding, a.peak, a.cap, a.persistent});
  }
  std::sort(report.streams.begin(), report.streams.end(),
            [](const StreamMemory& a, const StreamMemory& b) { return a.stream < b.stream; });
  return report;
}

Error Memory::no_room(std::uint64_t bytes, const Error& cause) const {
  const driver::Properties& device = store_.driver().properties();
  const std::string limit = device.capacity == 0 ? std::string("an unknown number of")
                                                 : fmt::format("{}", device.capacity);
  return Error(ErrorKind::OutOfMemory,
               fmt::format("A buffer of {} bytes does not fit into the memory of {}: of {} bytes, "
                           "pools have reserved {}, of which buffers take {}, and {} are given up "
                           "but still in use by the device. Release buffers or trim the memory, "
                           "and try again.",
                           bytes, device.name, limit, store_.reserved(), taken_, store_.retiring()))
      .with_cause(cause);
}

Error Memory::over_capacity(std::uint64_t bytes) const {
  std::uint64_t capacity = 0, reserved = 0, used = 0;
  for (const auto& pool : pools_) {
    if (!pool->accepts(bytes)) continue;
    const PoolReport report = pool->report();
    capacity += pool->capacity();
    reserved += report.reserved;
    used += report.bytes + report.padding;
  }
  return Error(ErrorKind::OutOfMemory,
               fmt::format("A buffer of {} bytes does not fit: the pools that take it have "
                           "reserved {} of the {} bytes of their capacity, of which buffers take "
                           "{}. Release buffers, or install a layout with a larger capacity.",
                           bytes, reserved, capacity, used));
}

Error Memory::no_pool(std::uint64_t bytes) const {
  const driver::Properties& device = store_.driver().properties();
  if (bytes > limits_.page_limit) {
    return Error(ErrorKind::TooLarge,
                 fmt::format("A buffer of {} bytes is larger than the {} bytes that one buffer of "
                             "{} can have ({} bytes are in use). Divide it over several buffers.",
                             bytes, limits_.page_limit, device.name, taken_));
  }
  std::uint64_t largest = 0;
  for (const auto& pool : pools_) largest = std::max(largest, pool->largest());
  return Error(ErrorKind::TooLarge,
               fmt::format("No pool of the memory layout takes a buffer of {} bytes; the largest "
                           "that one takes has {} ({} bytes are in use). Add an exclusive or a "
                           "direct pool to the layout.",
                           bytes, largest, taken_));
}

Error Memory::over_cap(std::uint64_t bytes, StreamId stream, const Account& account) const {
  return Error(ErrorKind::OutOfMemory,
               fmt::format("A buffer of {} bytes does not fit under the cap of stream {}: {} of {} "
                           "bytes are in use. Release buffers of the stream or raise its cap.",
                           bytes, stream, account.bytes + account.padding, account.cap));
}

}  // namespace tessera::server
