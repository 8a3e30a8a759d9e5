// SPDX-License-Identifier: MIT OR Apache-2.0
#include "ir/verifier_rules.hpp"

#include <fmt/format.h>

#include "ir/op_info.hpp"

namespace tessera::ir {
namespace {

std::string name(Type t) {
  return t.lanes > 1 ? fmt::format("vec{}<{}>", t.lanes, to_string(t.elem))
                     : std::string(to_string(t.elem));
}

bool allowed(Elements elements, Elem e) {
  switch (elements) {
    case Elements::any:
    case Elements::own:
      return e != Elem::none;
    case Elements::number:
      return is_int(e) || is_float(e);
    case Elements::integer:
      return is_int(e);
    case Elements::floating:
      return is_float(e);
    case Elements::boolean:
      return e == Elem::boolean;
    case Elements::bits:
      return is_int(e) || e == Elem::boolean;
  }
  return false;
}

// In bits: bool one, index none that could be reinterpreted.
int width(Elem e) {
  return static_cast<int>(8 * size_of(e));
}

bool is_scalar(Type t, Elem e) {
  return t == Type{e, 1};
}

}  // namespace

int region_count(Opcode code) {
  switch (code) {
    case Opcode::if_:
      return 2;
    case Opcode::for_:
    case Opcode::loop:
      return 1;
    default:
      return 0;
  }
}

std::string types_violation(const Kernel& k, Value v) {
  const Op& o = k.op(v);
  const OpInfo& row = info(o.code);
  const auto type = [&](int i) { return k.op(k.arg(v, i)).type; };
  const Type first = o.operand_count > 0 ? type(0) : Type{};

  if (o.type.lanes != 0 && o.type.lanes != 1 && o.type.lanes != 2 && o.type.lanes != 4) {
    return fmt::format("A value of {} lanes", o.type.lanes);
  }
  if (row.operands > 0 && !allowed(row.elements, first.elem)) {
    return fmt::format("{} is not defined for {}", row.name, name(first));
  }
  switch (row.result) {
    case ResultRule::same:
      if (o.type != first)
        return fmt::format("{} of {} gives {}", row.name, name(first), name(first));
      break;
    case ResultRule::boolean:
      if (o.type != Type{Elem::boolean, first.lanes}) {
        return fmt::format("{} of {} gives bool", row.name, name(first));
      }
      break;
    case ResultRule::nothing:
      if (o.type.lanes != 0) return fmt::format("{} gives no value", row.name);
      break;
    case ResultRule::given:
      if (o.type.lanes == 0 && !row.has(trait_control))
        return fmt::format("{} needs a type", row.name);
      break;
  }

  switch (o.code) {
    case Opcode::select:
      if (first != Type{Elem::boolean, 1} && first != Type{Elem::boolean, o.type.lanes}) {
        return "The condition of select is a bool, or one a lane";
      }
      if (type(1) != o.type || type(2) != o.type) return "The sides of select have its type";
      return {};
    case Opcode::cast:
      if (o.type.lanes != first.lanes) return "cast keeps the number of lanes";
      return {};
    case Opcode::bitcast:
      if (o.type.lanes != first.lanes || width(o.type.elem) != width(first.elem) ||
          width(first.elem) == 0) {
        return "bitcast keeps the bits of every lane";
      }
      return {};
    case Opcode::splat:
      if (first.lanes != 1 || o.type.lanes < 2 || first.elem != o.type.elem) {
        return "splat makes a vector of a scalar";
      }
      return {};
    case Opcode::compose:
      if (o.type.lanes < 2 || o.operand_count != o.type.lanes) {
        return "compose takes one scalar a lane";
      }
      for (int i = 0; i < o.operand_count; ++i) {
        if (!is_scalar(type(i), o.type.elem)) return "compose takes one scalar a lane";
      }
      return {};
    case Opcode::extract:
      if (first.lanes < 2 || !is_scalar(o.type, first.elem) || o.attr >= first.lanes) {
        return "extract takes a lane that the vector has";
      }
      return {};
    case Opcode::insert:
      if (first.lanes < 2 || !is_scalar(type(1), first.elem) || o.attr >= first.lanes) {
        return "insert sets a lane that the vector has";
      }
      return {};
    case Opcode::slot_load:
    case Opcode::slot_store: {
      if (k.op(k.arg(v, 0)).code != Opcode::slot) return "The first operand is no variable";
      const Type held = first;
      const Type value = o.code == Opcode::slot_load ? o.type : type(1);
      if (value != held) return fmt::format("The variable holds {}", name(held));
      return {};
    }
    case Opcode::for_:
      if (type(1) != first || type(2) != first || o.type != first || first.lanes != 1) {
        return "The bounds and the step of a loop have one integer type";
      }
      if (k.op(k.arg(v, 2)).code == Opcode::constant && k.op(k.arg(v, 2)).attr == 0) {
        return "The step of a loop is zero";
      }
      return {};
    case Opcode::if_:
    case Opcode::break_unless:
    case Opcode::check:
      if (!is_scalar(first, Elem::boolean)) return "The condition is one bool";
      return {};
    default:
      break;
  }
  // Lane-wise operations of several operands have them all of one type.
  if (row.has(trait_lanewise)) {
    for (int i = 1; i < o.operand_count; ++i) {
      if (type(i) != first) {
        return fmt::format("{} takes operands of one type, not {} and {}", row.name, name(first),
                           name(type(i)));
      }
    }
  }
  return {};
}

std::string memory_violation(const Kernel& k, Value v) {
  const Op& o = k.op(v);
  const auto binding = static_cast<std::uint32_t>(o.attr);
  switch (o.code) {
    case Opcode::constant:
      return o.type.lanes == 1 ? "" : "A constant is a scalar";
    case Opcode::builtin:
      if (o.attr >= static_cast<std::uint64_t>(detail::builtin_count)) return "No such builtin";
      return is_scalar(o.type, Elem::index) ? "" : "A builtin is an index";
    case Opcode::scalar:
      if (o.attr >= k.scalars.size()) return "No such scalar parameter";
      return is_scalar(o.type, k.scalars[o.attr].elem) ? "" : "The scalar has another type";
    case Opcode::length:
    case Opcode::shape:
    case Opcode::stride:
      if (binding >= k.bindings.size()) return "No such buffer parameter";
      if (o.code != Opcode::length && (o.attr >> 32) >= k.bindings[binding].rank)
        return "No such axis";
      return is_scalar(o.type, Elem::index) ? "" : "Metadata is an index";
    case Opcode::check:
      return o.site < k.sites.size() ? "" : "A check needs a site";
    default:
      break;
  }
  const OpInfo& row = info(o.code);
  const bool plain = o.code == Opcode::load || o.code == Opcode::load_or ||
                     o.code == Opcode::store || o.code == Opcode::uniform_load;
  const bool atomic = row.has(trait_atomic);
  if (!plain && !atomic) return {};

  const MemoryRef memory = detail::unpack_memory(o.attr);
  Type element;
  bool atomic_memory = false;
  if (memory.shared) {
    if (memory.index >= k.shared.size()) return "No such shared block";
    element = k.shared[memory.index].type;
    atomic_memory = k.shared[memory.index].atomic;
  } else {
    if (memory.index >= k.bindings.size()) return "No such buffer parameter";
    const BindingParam& b = k.bindings[memory.index];
    element = b.type;
    atomic_memory = b.atomic;
    const bool writes = row.has(trait_writes), reads = row.has(trait_reads);
    if (reads && b.declared == Access::out)
      return fmt::format("{} is declared Out and is read", b.name);
    if (writes && b.declared == Access::in)
      return fmt::format("{} is declared In and is written", b.name);
  }
  if (o.code == Opcode::uniform_load && !memory.shared) return "uniform_load is of shared memory";
  if (atomic && !atomic_memory) return "The memory is not declared atomic";
  if (plain && atomic_memory) return "Atomic memory is reached by atomic operations alone";

  const int coordinates = coordinate_count(k, o);
  int values = 0;
  if (o.code == Opcode::load_or || o.code == Opcode::store) values = 1;
  if (atomic && o.code != Opcode::atomic_load) values = o.code == Opcode::atomic_cas ? 2 : 1;
  if (o.operand_count != coordinates + values) {
    return fmt::format("{} takes {} coordinates and {} values", row.name, coordinates, values);
  }
  for (int i = 0; i < coordinates; ++i) {
    if (!is_scalar(k.op(k.arg(v, i)).type, Elem::index)) return "A coordinate is an index";
  }
  for (int i = coordinates; i < o.operand_count; ++i) {
    if (k.op(k.arg(v, i)).type != element) {
      return fmt::format("The memory holds {}", name(element));
    }
  }
  if (o.type.lanes != 0 && o.type != element)
    return fmt::format("The memory holds {}", name(element));
  if ((o.flags & flag_checked) != 0 && o.site >= k.sites.size())
    return "A checked access needs a site";
  return {};
}

}  // namespace tessera::ir
