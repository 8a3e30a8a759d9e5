// SPDX-License-Identifier: MIT OR Apache-2.0
// Ages are differences of steps, so that no page is touched when the rest grow older.
#include "server/memory/exclusive_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace tessera::server {
namespace {

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

// Large pages are made rarely and are costly to make again, so they stay longer.
std::uint64_t period_of(std::uint64_t max_bytes, std::uint64_t release_every) {
  if (release_every != 0) return release_every;
  return 5000 * (1 + max_bytes / gib + (max_bytes % gib >= gib / 2 ? 1 : 0));
}

}  // namespace

ExclusivePool::ExclusivePool(PageStore& store, std::uint64_t alignment, std::uint64_t max_bytes,
                             std::uint64_t release_every, Footprint* outer)
    : PagedPool(store, alignment, {max_bytes}, outer),
      max_bytes_(max_bytes),
      step_(std::max<std::uint64_t>(1, period_of(max_bytes, release_every) / oldest)),
      free_(alignment) {}

Result<Block*> ExclusivePool::take(std::uint64_t bytes, Mapping mapping) {
  const std::uint64_t need = padded(bytes);
  Block* block = choose(need);
  if (block != nullptr) {
    if (Status mapped = map_for(*block->page, mapping); !mapped) return mapped.error();
    free_.unlink(block);
    unused_.remove(block->page);
  } else {
    const Result<Page*> page = add_page(need, mapping);
    if (!page) return page.error();
    block = (*page)->first;
  }
  note_taken(*block, bytes);
  count_request();
  return block;
}

// The page unused for the fewest steps, of those with room that are not more than twice what is
// needed: the rest of the page is lost for as long as it is taken. Lists run from the page unused
// last, so each is asked for its first page alone, and only the two that hold other sizes as well,
// the first and the last, are searched a little further.
Block* ExclusivePool::choose(std::uint64_t need) const noexcept {
  constexpr int reach = 16;
  const int own = free_.list_of(need);
  const int end = free_.list_of(2 * need) + 1;
  Block* best = nullptr;
  for (int list = free_.filled_from(own); list < end; list = free_.filled_from(list + 1)) {
    Block* block = free_.first(list);
    for (int i = 0; block != nullptr && (block->bytes < need || block->bytes > 2 * need); ++i) {
      block = i < reach ? block->next : nullptr;
    }
    if (block != nullptr && (best == nullptr || block->page->age > best->page->age)) best = block;
  }
  return best;
}

void ExclusivePool::count_request() {
  if (++requests_ < step_) return;
  requests_ = 0;
  ++now_;
  while (!unused_.empty() && now_ - unused_.first()->age >= oldest) retire(unused_.first());
}

void ExclusivePool::give_back(Block* block) {
  assert(!block->free);
  note_given(*block);
  block->page->age = now_;
  unused_.append(block->page);
  free_.link(block);
  if (draining_) retire(block->page);
}

void ExclusivePool::retire(Page* page) {
  unused_.remove(page);
  free_.unlink(page->first);
  drop_page(page);
}

std::uint64_t ExclusivePool::release_free() {
  const std::uint64_t before = footprint_.reserved;
  while (!unused_.empty()) retire(unused_.first());
  return before - footprint_.reserved;
}

void ExclusivePool::drain() {
  draining_ = true;
  release_free();
}

PoolReport ExclusivePool::report() const {
  PoolReport report = counts();
  report.kind = fmt::format("exclusive, up to {} bytes", max_bytes_);
  return report;
}

}  // namespace tessera::server
