// SPDX-License-Identifier: MIT OR Apache-2.0
// Steps that reach memory.
#include <cassert>

#include "ir/interpreter_run.hpp"

namespace tessera::ir {

// Narrow signed coordinates wrap to the index type as on a device; a 64-bit one keeps all its bits
// where indices are narrower, so that it is found outside instead of cut to something inside.
std::uint64_t Run::coordinate(const Step& s, std::uint32_t i, std::uint32_t unit) const {
  const Elem elem = operand(s, i).type.elem;
  const std::uint64_t bits = in(s, i)[unit];
  if (!is_signed_int(elem)) return bits;
  const auto wide = static_cast<std::uint64_t>(widen(elem, bits));
  return elem == Elem::i64 ? wide : index_bits(wide);
}

Run::Spot Run::locate(const Place& place, const Step& s, std::uint32_t unit) const {
  if (place.rank == 0) {
    const std::uint64_t i = coordinate(s, 0, unit);
    return {i < place.length, i, i};
  }
  Spot spot{true, 0, 0};
  for (std::uint32_t axis = 0; axis < place.rank; ++axis) {
    const std::uint64_t c = coordinate(s, axis, unit);
    spot.inside = spot.inside && c < place.shape[axis];
    spot.element += c * place.strides[axis];
    spot.fault_index = spot.fault_index * place.shape[axis] + c;
  }
  if (place.rank == 2) {
    spot.fault_index = pack_coordinates(coordinate(s, 0, unit), coordinate(s, 1, unit));
  }
  return spot;
}

// Whether the access happens. An access that was proven and is outside all the same would be an
// error of the passes.
bool Run::reachable(const Place& place, const Step& s, const Spot& spot, std::uint32_t unit) {
  if (!spot.inside && s.checked) {
    fault(s, unit, spot.fault_index);
    return false;
  }
  const bool real = spot.element < place.capacity;
  assert(real || !kernel_.checked || s.checked);
  return real;
}

void Run::load(const Step& s, const Mask& mask) {
  Place& place = memory_.place(detail::unpack_memory(s.attr));
  for (std::uint32_t u = mask.first; u < mask.end; ++u) {
    if (mask.on[u] == 0) continue;
    const Spot spot = locate(place, s, u);
    if (!reachable(place, s, spot, u)) {
      for (std::uint32_t lane = 0; lane < s.type.lanes; ++lane) out(s, lane)[u] = 0;
      continue;
    }
    memory_.touch(place, spot.element, Touch::read, u, s.value, findings_);
    const std::byte* from = place.at(spot.element);
    for (std::uint32_t lane = 0; lane < s.type.lanes; ++lane) {
      out(s, lane)[u] = load_bits(from + lane * place.lane_bytes, place.lane_bytes);
    }
  }
}

void Run::load_or(const Step& s, const Mask& mask) {
  Place& place = memory_.place(detail::unpack_memory(s.attr));
  const std::uint32_t fallback = s.operand_count - 1;
  for (std::uint32_t u = mask.first; u < mask.end; ++u) {
    if (mask.on[u] == 0) continue;
    const Spot spot = locate(place, s, u);
    const bool inside = spot.inside && spot.element < place.capacity;
    if (inside) memory_.touch(place, spot.element, Touch::read, u, s.value, findings_);
    for (std::uint32_t lane = 0; lane < s.type.lanes; ++lane) {
      out(s, lane)[u] =
          inside ? load_bits(place.at(spot.element) + lane * place.lane_bytes, place.lane_bytes)
                 : in(s, fallback, lane)[u];
    }
  }
}

void Run::store(const Step& s, const Mask& mask) {
  Place& place = memory_.place(detail::unpack_memory(s.attr));
  const std::uint32_t value = s.operand_count - 1;
  for (std::uint32_t u = mask.first; u < mask.end; ++u) {
    if (mask.on[u] == 0) continue;
    const Spot spot = locate(place, s, u);
    if (!reachable(place, s, spot, u)) continue;
    memory_.touch(place, spot.element, Touch::write, u, s.value, findings_);
    std::byte* to = place.at(spot.element);
    for (std::uint32_t lane = 0; lane < place.type.lanes; ++lane) {
      store_bits(to + lane * place.lane_bytes, place.lane_bytes, in(s, value, lane)[u]);
    }
  }
}

void Run::atomic(const Step& s, const Mask& mask) {
  Place& place = memory_.place(detail::unpack_memory(s.attr));
  const auto coordinates = place.rank == 0 ? 1u : place.rank;
  const bool gives = s.type.lanes != 0;
  const bool reads = s.code != Opcode::atomic_store;
  for (std::uint32_t u = mask.first; u < mask.end; ++u) {
    if (mask.on[u] == 0) continue;
    const Spot spot = locate(place, s, u);
    if (!reachable(place, s, spot, u)) {
      if (gives) out(s)[u] = 0;
      continue;
    }
    if (reads) {
      memory_.touch(place, spot.element, Touch::atomic_read, u, s.value, findings_);
    }
    std::byte* at = place.at(spot.element);
    const std::uint64_t old = load_bits(at, place.lane_bytes);
    std::uint64_t next = old;
    switch (s.code) {
      case Opcode::atomic_load:
        break;
      case Opcode::atomic_store:
      case Opcode::atomic_exchange:
        next = in(s, coordinates)[u];
        break;
      case Opcode::atomic_cas:
        if (old == in(s, coordinates)[u]) next = in(s, coordinates + 1)[u];
        break;
      default:
        s.function(&next, &old, in(s, coordinates) + u, nullptr, 1);
        break;
    }
    if (s.code != Opcode::atomic_load) {
      memory_.touch(place, spot.element, Touch::atomic_write, u, s.value, findings_);
      store_bits(at, place.lane_bytes, next);
    }
    if (gives) out(s)[u] = old;
  }
}

}  // namespace tessera::ir
