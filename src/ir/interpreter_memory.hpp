// SPDX-License-Identifier: MIT OR Apache-2.0
// The memory that a run reaches: bindings and the shared blocks of the cube being run.
//
// A Place knows where its bytes are and what may be wrong with touching them. Nothing outside its
// bytes is ever touched, whatever a kernel computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ir/interpreter.hpp"
#include "ir/interpreter_findings.hpp"
#include "ir/interpreter_races.hpp"

namespace tessera::ir {

struct Place {
  MemoryRef ref;
  std::byte* data = nullptr;
  std::uint8_t* written = nullptr;  // null: not tracked
  std::uint64_t capacity = 0;       // whole elements that the bytes hold
  std::uint32_t element_bytes = 0;  // of all lanes
  std::uint32_t lane_bytes = 0;
  Type type;
  std::uint32_t rank = 0;    // 0: flat
  std::uint64_t length = 0;  // elements, flat
  const std::uint64_t* shape = nullptr;
  const std::uint64_t* strides = nullptr;
  RaceTracker* races = nullptr;
  std::uint32_t cell_bytes = 1;  // of `races`
  std::uint8_t observed = 0;     // bits of Access

  std::byte* at(std::uint64_t element) const { return data + element * element_bytes; }
};

/// Bits of one lane in memory, and back.
std::uint64_t load_bits(const std::byte* from, std::uint32_t bytes);
void store_bits(std::byte* to, std::uint32_t bytes, std::uint64_t bits);

class Memory {
 public:
  Memory(const Kernel& kernel, std::span<const BufferView> buffers,
         std::span<const std::uint64_t> parameters, const RunOptions& options);

  Place& place(MemoryRef ref) { return ref.shared ? shared_[ref.index] : bindings_[ref.index]; }
  std::vector<Access> observed() const;
  bool tracks_races() const { return find_races_; }

  void begin_cube(std::uint64_t cube);
  /// Everything before is ordered before everything after, in this cube.
  void barrier() { ++epoch_; }

  /// Called for each element touched, before it is: records, and finds what is wrong with it.
  void touch(Place& place, std::uint64_t element, Touch touch, std::uint32_t unit, Value op,
             Findings& findings) {
    const bool writes = touch == Touch::write || touch == Touch::atomic_write;
    place.observed |= static_cast<std::uint8_t>(writes ? Access::out : Access::in);
    if (place.written != nullptr || place.races != nullptr) {
      examine(place, element, touch, unit, op, findings);
    }
  }

 private:
  void examine(Place& place, std::uint64_t element, Touch touch, std::uint32_t unit, Value op,
               Findings& findings);
  void watch_bindings(std::span<const BufferView> buffers);
  std::uint64_t cube_of(std::uint32_t epoch) const;

  bool find_races_, find_unwritten_;
  std::vector<Place> bindings_, shared_;
  struct Block {
    std::vector<std::byte> data;
    std::vector<std::uint8_t> written;
  };
  std::vector<Block> blocks_;
  std::vector<std::unique_ptr<RaceTracker>> trackers_;
  std::uint32_t epoch_ = 0, cube_begin_ = 0;
  std::uint64_t cube_ = 0;
  std::vector<std::uint32_t> begins_;  // first epoch of each cube, while races are looked for
};

}  // namespace tessera::ir
