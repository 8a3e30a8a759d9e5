// SPDX-License-Identifier: MIT OR Apache-2.0
// Moving buffers out of pools that an earlier layout left behind, so that their pages can go.
//
// A buffer is named by its id, so moving it is a copy on the device and a new place: handles,
// claims and what is in flight on it do not notice, since the copy is ordered like any operation
// and old and new bytes keep their records. A page moves as a whole or not at all; what is pinned,
// or named by a parked command, stays, and so does its page.
#include <algorithm>
#include <vector>

#include "server/server.hpp"

namespace tessera::server {

void Server::relocate() {
  if (!memory_.has_outdated()) return;
  std::vector<Block*> blocks;
  memory_.for_each_outdated([&](Block& b) { blocks.push_back(&b); });
  for (std::size_t begin = 0; begin < blocks.size();) {
    std::size_t end = begin + 1;
    while (end < blocks.size() && blocks[end]->page == blocks[begin]->page) ++end;
    if (!relocate_page({blocks.data() + begin, end - begin})) return;
    begin = end;
  }
}

// False: there is no room, so nothing further will move either.
bool Server::relocate_page(std::span<Block* const> blocks) {
  const auto stays = [&](const Block* b) {
    const Allocation* a = allocations_.find(b->owner);
    return b->pins > 0 || a == nullptr || a->block != b || a->parked_uses > 0;
  };
  if (std::any_of(blocks.begin(), blocks.end(), stays)) return true;
  std::vector<Block*> targets;
  for (const Block* b : blocks) {
    Result<Block*> target = memory_.take_for_move(*b);
    if (!target) {
      for (Block* t : targets) memory_.give_back(t);
      return false;
    }
    targets.push_back(*target);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    // A copy that is refused leaves its buffer where it is.
    const bool moved = move(*blocks[i], *targets[i]);
    memory_.give_back(moved ? blocks[i] : targets[i]);
  }
  return true;
}

bool Server::move(Block& from, Block& to) {
  Allocation& a = *allocations_.find(from.owner);
  const driver::Region source = a.region;
  const driver::Region target{to.page->id, to.offset + zone(), a.bytes};
  const QueueId queue = queue_of(from.stream);
  const Touch touched[2] = {{&from, source, true, false}, {&to, target, false, true}};
  Result<LogEntry*> entry = own_operation(OpKind::relocation, queue, from.stream, touched,
                                          [&] { return driver_.copy(queue, source, target); });
  if (!entry) return false;
  // The log names bytes by allocation, and what was tainted moves along: the entry writes nothing
  // unless the copy itself fails.
  (*entry)->writes.push_back({a.id, 0, a.bytes});
  check_zones(a);
  a.block = &to;
  a.region = target;
  paint_zones(a);
  return true;
}

}  // namespace tessera::server
