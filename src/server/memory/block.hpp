// SPDX-License-Identifier: MIT OR Apache-2.0
// Pages and the blocks that they are divided into.
#pragma once

#include <cstdint>

#include "driver/driver.hpp"
#include "server/ids.hpp"
#include "server/ordering/access_record.hpp"

namespace tessera::server {

class Pool;
struct Page;

/// Part of a page, taken or free. The blocks of a page cover it without gaps and know their
/// neighbours. Offsets and sizes are multiples of the device's alignment.
struct Block {
  Page* page = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t requested = 0;  // taken: without padding
  StreamId stream = 0;          // taken: whose account it is on
  AllocationId owner;           // taken: whose bytes it holds, where it is an allocation's
  std::uint32_t pins = 0;       // taken: not moved while nonzero
  bool free = false;
  bool resting = false;     // free, not yet joined with its neighbours, in no free list
  Block* before = nullptr;  // neighbours in the page
  Block* after = nullptr;
  Block* next = nullptr;  // in a list of its pool
  Block* previous = nullptr;
  AccessRecord record;  // in page offsets; who touched the bytes, through every owner
};

struct Page {
  static constexpr driver::PageId unmapped = 0;  // no driver page has this id

  Pool* pool = nullptr;
  driver::PageId id = unmapped;
  std::uint64_t bytes = 0;
  Block* first = nullptr;
  std::uint32_t taken = 0;  // blocks
  std::uint32_t holds = 0;  // by commands that are put off and name it
  std::uint32_t age = 0;    // for pools that let unused pages go
  std::size_t index = 0;    // in its pool
  Page* next = nullptr;     // in a list of its pool
  Page* previous = nullptr;
};

}  // namespace tessera::server
