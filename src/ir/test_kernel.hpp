// SPDX-License-Identifier: MIT OR Apache-2.0
// Writes kernels by hand in tests, an operation a call. Each operation has its own line of
// "test.k", counted from 1, so that messages can be checked.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "ir/kernel.hpp"

namespace tessera::ir {

class TestKernel {
 public:
  explicit TestKernel(std::uint32_t units = 1, std::string name = "test") {
    k.name = std::move(name);
    k.units = {units, 1, 1};
  }

  Kernel k;

  static constexpr Type index{Elem::index, 1}, boolean{Elem::boolean, 1}, i32{Elem::i32, 1},
      u32{Elem::u32, 1}, f32{Elem::f32, 1}, nothing{};

  MemoryRef binding(std::string name, Type type, Access access, std::uint8_t rank = 0) {
    k.bindings.push_back({std::move(name), type, access, rank, false, access});
    return {false, static_cast<std::uint32_t>(k.bindings.size() - 1)};
  }
  MemoryRef shared(Type type, std::uint64_t count) {
    k.shared.push_back({type, count, false, 0});
    return {true, static_cast<std::uint32_t>(k.shared.size() - 1)};
  }
  Value scalar(std::string name, Elem elem) {
    k.scalars.push_back({std::move(name), elem});
    return op(Opcode::scalar, {elem, 1}, {}, k.scalars.size() - 1);
  }

  Value op(Opcode code, Type type, std::initializer_list<Value> operands = {},
           std::uint64_t attr = 0, std::uint8_t flags = 0) {
    return append(code, type, std::vector<Value>(operands), attr, flags);
  }
  Value constant(Elem elem, std::uint64_t bits) {
    return op(Opcode::constant, {elem, 1}, {}, bits);
  }
  Value idx(std::uint64_t x) { return constant(Elem::index, x); }
  Value builtin(Builtin b) { return op(Opcode::builtin, index, {}, static_cast<std::uint64_t>(b)); }

  Value load(MemoryRef m, std::vector<Value> at, Opcode code = Opcode::load) {
    return memory(code, type_of(m), m, std::move(at), SiteKind::load);
  }
  void store(MemoryRef m, std::vector<Value> at, Value value) {
    at.push_back(value);
    memory(Opcode::store, nothing, m, std::move(at), SiteKind::store);
  }
  Value atomic(Opcode code, MemoryRef m, std::vector<Value> operands) {
    const Type type = code == Opcode::atomic_store ? nothing : type_of(m);
    return memory(code, type, m, std::move(operands), SiteKind::atomic);
  }
  void check(Value condition, std::string text) {
    const Value v = op(Opcode::check, nothing, {condition});
    k.ops[v].site = static_cast<std::uint32_t>(k.sites.size());
    k.sites.push_back({SiteKind::check, {}, k.ops[v].loc, std::move(text)});
  }
  void sync() { op(Opcode::sync_cube, nothing); }

  using Body = std::function<void()>;
  void if_(Value condition, const Body& yes, const Body& no = {}) {
    const Value v = op(Opcode::if_, nothing, {condition});
    regions(v, 2);
    inside(v, 0, yes);
    if (no) inside(v, 1, no);
  }
  void for_(Value begin, Value end, Value step, const std::function<void(Value)>& body) {
    const Value v = op(Opcode::for_, k.op(begin).type, {begin, end, step});
    regions(v, 1);
    inside(v, 0, [&] { body(v); });
  }
  void loop(const Body& body) {
    const Value v = op(Opcode::loop, nothing);
    regions(v, 1);
    inside(v, 0, body);
  }

  /// Whether the memory operations that follow are checked.
  bool checked = true;

 private:
  Type type_of(MemoryRef m) const {
    return m.shared ? k.shared[m.index].type : k.bindings[m.index].type;
  }
  Value memory(Opcode code, Type type, MemoryRef m, std::vector<Value> operands, SiteKind kind) {
    const Value v = append(code, type, operands, detail::pack(m),
                           checked ? std::uint8_t{flag_checked} : std::uint8_t{0});
    if (checked) {
      k.ops[v].site = static_cast<std::uint32_t>(k.sites.size());
      k.sites.push_back({kind, m, k.ops[v].loc, {}});
    }
    return v;
  }
  Value append(Opcode code, Type type, const std::vector<Value>& operands, std::uint64_t attr,
               std::uint8_t flags) {
    const auto v = static_cast<Value>(k.ops.size());
    Op o;
    o.code = code;
    o.flags = flags;
    o.type = type;
    o.operand_count = static_cast<std::uint16_t>(operands.size());
    o.operand_begin = static_cast<std::uint32_t>(k.operands.size());
    o.attr = attr;
    o.loc = static_cast<std::uint32_t>(k.locs.size());
    k.operands.insert(k.operands.end(), operands.begin(), operands.end());
    k.locs.push_back({"test.k", o.loc + 1});
    k.ops.push_back(o);
    k.regions[open_].ops.push_back(v);
    return v;
  }
  void regions(Value v, std::uint16_t count) {
    k.ops[v].region_begin = static_cast<RegionId>(k.regions.size());
    k.ops[v].region_count = count;
    k.regions.resize(k.regions.size() + count);
  }
  void inside(Value v, std::uint32_t which, const Body& body) {
    const RegionId outer = std::exchange(open_, k.ops[v].region_begin + which);
    body();
    open_ = outer;
  }

  RegionId open_ = 0;
};

/// Parameter words of a kernel without tensors: scalars, then lengths.
inline std::vector<std::uint64_t> words(std::vector<std::uint64_t> scalars,
                                        const std::vector<std::uint64_t>& lengths) {
  scalars.insert(scalars.end(), lengths.begin(), lengths.end());
  return scalars;
}

}  // namespace tessera::ir
