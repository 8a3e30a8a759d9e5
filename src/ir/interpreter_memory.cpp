// SPDX-License-Identifier: MIT OR Apache-2.0
#include "ir/interpreter_memory.hpp"

#include <algorithm>
#include <cstring>

namespace tessera::ir {
namespace {

constexpr std::byte poison{0xCD};

// Shared blocks may hold what buffers do not.
std::uint32_t lane_size(Elem elem) {
  switch (elem) {
    case Elem::boolean:
      return 1;
    case Elem::index:
      return 8;
    default:
      return static_cast<std::uint32_t>(size_of(elem));
  }
}

void set_type(Place& place, Type type, std::uint64_t bytes) {
  place.type = type;
  place.lane_bytes = lane_size(type.elem);
  place.element_bytes = place.lane_bytes * type.lanes;
  place.capacity = place.element_bytes == 0 ? 0 : bytes / place.element_bytes;
}

const char* word(Touch touch) {
  switch (touch) {
    case Touch::read:
      return "reads";
    case Touch::write:
      return "writes";
    case Touch::atomic_read:
      return "atomically reads";
    case Touch::atomic_write:
      return "atomically writes";
  }
  return "touches";
}

}  // namespace

std::uint64_t load_bits(const std::byte* from, std::uint32_t bytes) {
  switch (bytes) {
    case 1:
      return std::to_integer<std::uint8_t>(*from);
    case 2: {
      std::uint16_t x;
      std::memcpy(&x, from, 2);
      return x;
    }
    case 4: {
      std::uint32_t x;
      std::memcpy(&x, from, 4);
      return x;
    }
    default: {
      std::uint64_t x;
      std::memcpy(&x, from, 8);
      return x;
    }
  }
}

void store_bits(std::byte* to, std::uint32_t bytes, std::uint64_t bits) {
  switch (bytes) {
    case 1:
      *to = static_cast<std::byte>(bits);
      return;
    case 2: {
      const auto x = static_cast<std::uint16_t>(bits);
      std::memcpy(to, &x, 2);
      return;
    }
    case 4: {
      const auto x = static_cast<std::uint32_t>(bits);
      std::memcpy(to, &x, 4);
      return;
    }
    default:
      std::memcpy(to, &bits, 8);
  }
}

Memory::Memory(const Kernel& kernel, std::span<const BufferView> buffers,
               std::span<const std::uint64_t> parameters, const RunOptions& options)
    : find_races_(options.find_races), find_unwritten_(options.find_unwritten) {
  const ParameterLayout layout = parameter_layout(kernel);
  for (std::uint32_t i = 0; i < kernel.bindings.size(); ++i) {
    const BindingParam& param = kernel.bindings[i];
    Place place;
    place.ref = {false, i};
    place.data = buffers[i].data.data();
    set_type(place, param.type, buffers[i].data.size());
    if (buffers[i].written.size() >= buffers[i].data.size()) {
      place.written = buffers[i].written.data();
    }
    place.rank = param.rank;
    place.length = parameters[layout.lengths + i];
    if (param.rank != 0) {
      place.shape = parameters.data() + layout.shapes[i];
      place.strides = parameters.data() + layout.strides[i];
    }
    bindings_.push_back(place);
  }
  blocks_.resize(kernel.shared.size());
  for (std::uint32_t i = 0; i < kernel.shared.size(); ++i) {
    const SharedBlock& block = kernel.shared[i];
    Place place;
    place.ref = {true, i};
    const std::uint64_t bytes = block.count * lane_size(block.type.elem) * block.type.lanes;
    blocks_[i].data.resize(bytes);
    place.data = blocks_[i].data.data();
    if (find_unwritten_) {
      blocks_[i].written.resize(bytes);
      place.written = blocks_[i].written.data();
    }
    set_type(place, block.type, bytes);
    place.length = block.count;
    if (find_races_) {
      trackers_.push_back(std::make_unique<RaceTracker>(place.capacity, true));
      place.races = trackers_.back().get();
      place.cell_bytes = place.element_bytes;
    }
    shared_.push_back(place);
  }
  if (find_races_) watch_bindings(buffers);
}

// Bindings of the same range (aliases) share a tracker, whose cells are then the smallest element
// among them, so that accesses through different element types meet.
void Memory::watch_bindings(std::span<const BufferView> buffers) {
  for (std::size_t i = 0; i < bindings_.size(); ++i) {
    if (bindings_[i].races != nullptr || bindings_[i].capacity == 0) continue;
    std::size_t bytes = 0;
    std::uint32_t cell = bindings_[i].element_bytes;
    std::vector<std::size_t> group;
    for (std::size_t k = i; k < bindings_.size(); ++k) {
      if (bindings_[k].data != bindings_[i].data || bindings_[k].capacity == 0) continue;
      group.push_back(k);
      bytes = std::max(bytes, buffers[k].data.size());
      cell = std::min(cell, bindings_[k].element_bytes);
    }
    trackers_.push_back(std::make_unique<RaceTracker>((bytes + cell - 1) / cell, false));
    for (std::size_t k : group) {
      bindings_[k].races = trackers_.back().get();
      bindings_[k].cell_bytes = cell;
    }
  }
}

std::vector<Access> Memory::observed() const {
  std::vector<Access> out;
  for (const Place& place : bindings_) out.push_back(static_cast<Access>(place.observed));
  return out;
}

void Memory::begin_cube(std::uint64_t cube) {
  cube_ = cube;
  cube_begin_ = ++epoch_;
  if (find_races_) begins_.push_back(epoch_);
  for (Block& block : blocks_) {
    std::fill(block.data.begin(), block.data.end(), poison);
    std::fill(block.written.begin(), block.written.end(), std::uint8_t{0});
  }
}

std::uint64_t Memory::cube_of(std::uint32_t epoch) const {
  const auto it = std::upper_bound(begins_.begin(), begins_.end(), epoch);
  return static_cast<std::uint64_t>(it - begins_.begin()) - 1;
}

void Memory::examine(Place& place, std::uint64_t element, Touch touch, std::uint32_t unit, Value op,
                     Findings& findings) {
  const Actor actor{cube_, unit, op};
  const std::uint64_t begin = element * place.element_bytes;
  const bool writes = touch == Touch::write || touch == Touch::atomic_write;
  if (place.written != nullptr) {
    std::uint8_t* flags = place.written + begin;
    if (writes) {
      std::memset(flags, 1, place.element_bytes);
    } else if (find_unwritten_ &&
               std::find(flags, flags + place.element_bytes, 0) != flags + place.element_bytes) {
      findings.unwritten(place.ref, element, actor);
    }
  }
  if (place.races == nullptr) return;
  const Moment now{epoch_, cube_begin_, static_cast<std::uint16_t>(unit), op};
  const std::uint64_t last = (begin + place.element_bytes - 1) / place.cell_bytes;
  for (std::uint64_t cell = begin / place.cell_bytes; cell <= last; ++cell) {
    if (const auto conflict = place.races->touch(cell, touch, now)) {
      const Actor other{cube_of(conflict->other.epoch), conflict->other.unit, conflict->other.op};
      findings.race(place.ref, element, actor, word(touch), other, word(conflict->touch));
    }
  }
}

}  // namespace tessera::ir
