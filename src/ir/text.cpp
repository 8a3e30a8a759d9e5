// SPDX-License-Identifier: MIT OR Apache-2.0
#include "ir/text.hpp"

#include <fmt/format.h>

#include <vector>

#include "ir/op_info.hpp"
#include "ir/text_words.hpp"

namespace tessera::ir {
namespace {

std::string type_text(Type t) {
  return t.lanes > 1 ? fmt::format("vec{}<{}>", t.lanes, to_string(t.elem))
                     : std::string(to_string(t.elem));
}

std::string memory_text(std::uint64_t attr) {
  const MemoryRef m = detail::unpack_memory(attr);
  return fmt::format("{}{}", m.shared ? 's' : 'b', m.index);
}

std::string attribute_text(const Op& op) {
  switch (attribute_of(op.code)) {
    case Attribute::nothing:
      return "";
    case Attribute::bits:
      return fmt::format(" {:#x}", op.attr);
    case Attribute::number:
      return fmt::format(" {}", op.attr);
    case Attribute::builtin:
      return op.attr < static_cast<std::uint64_t>(detail::builtin_count)
                 ? fmt::format(" {}", to_string(static_cast<Builtin>(op.attr)))
                 : fmt::format(" {}", op.attr);
    case Attribute::memory:
      return " " + memory_text(op.attr);
    case Attribute::axis:
      return fmt::format(" b{}:{}", static_cast<std::uint32_t>(op.attr), op.attr >> 32);
  }
  return "";
}

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : k_(kernel), numbers_(kernel.ops.size(), none) {}

  std::string kernel() {
    out_ = fmt::format("kernel {} units=({},{},{}) {} {{\n", quoted(k_.name), k_.units[0],
                       k_.units[1], k_.units[2], k_.checked ? "checked" : "unchecked");
    for (const Loc& l : k_.locs) out_ += fmt::format("  loc {} {}\n", quoted(l.file), l.line);
    for (const BindingParam& b : k_.bindings) {
      out_ += fmt::format("  buffer {} {} {} rank={} {}io={}\n", quoted(b.name), type_text(b.type),
                          access_word(b.declared), b.rank, b.atomic ? "atomic " : "",
                          access_word(b.analysed));
    }
    for (const ScalarParam& s : k_.scalars) {
      out_ += fmt::format("  scalar {} {}\n", quoted(s.name), to_string(s.elem));
    }
    for (const SharedBlock& s : k_.shared) {
      out_ += fmt::format("  shared {} x {} {}@{}\n", type_text(s.type), s.count,
                          s.atomic ? "atomic " : "", s.loc);
    }
    for (const Site& s : k_.sites) {
      out_ += fmt::format("  site {} {} @{} {}\n", site_word(s.kind),
                          memory_text(detail::pack(s.memory)), s.loc, quoted(s.text));
    }
    region(0, 1);
    out_ += "}\n";
    return std::move(out_);
  }

  // Numbers as print() would give them, so that a message and a dump agree.
  std::string single(Value v) {
    number(0);
    out_.clear();
    line(v);
    return std::move(out_);
  }

 private:
  void number(RegionId id) {
    for (const Value v : k_.regions[id].ops) {
      if (v >= k_.ops.size()) continue;
      if (numbers_[v] == none) numbers_[v] = next_++;
      for (int r = 0; r < k_.op(v).region_count; ++r) {
        const RegionId inner = k_.op(v).region_begin + static_cast<RegionId>(r);
        if (inner < k_.regions.size() && inner > id) number(inner);
      }
    }
  }

  void line(Value v) {
    const Op& op = k_.op(v);
    if (op.type.lanes > 0) out_ += fmt::format("%{} = ", numbers_[v]);
    out_ += info(op.code).name;
    if ((op.flags & flag_checked) != 0) out_ += ".checked";
    if ((op.flags & flag_contract) != 0) out_ += ".contract";
    out_ += attribute_text(op);
    bool first = true;
    if (std::size_t{op.operand_begin} + op.operand_count <= k_.operands.size()) {
      for (const Value a : k_.args(v)) {
        const std::uint32_t n = a < numbers_.size() ? numbers_[a] : none;
        out_ += first ? " " : ", ";
        out_ += n == none ? "%?" : fmt::format("%{}", n);
        first = false;
      }
    }
    if (op.type.lanes > 0) out_ += " : " + type_text(op.type);
  }

  void region(RegionId id, int depth) {
    const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
    out_ += indent + "{\n";
    for (const Value v : k_.regions[id].ops) {
      numbers_[v] = next_++;
      out_ += indent + "  ";
      line(v);
      const Op& op = k_.op(v);
      out_ += fmt::format(" @{}", op.loc);
      if (op.site != none) out_ += fmt::format(" !{}", op.site);
      out_ += "\n";
      for (int r = 0; r < op.region_count; ++r) {
        region(op.region_begin + static_cast<RegionId>(r), depth + 1);
      }
    }
    out_ += indent + "}\n";
  }

  const Kernel& k_;
  std::vector<std::uint32_t> numbers_;
  std::uint32_t next_ = 0;
  std::string out_;
};

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

Attribute attribute_of(Opcode code) {
  switch (code) {
    case Opcode::constant:
      return Attribute::bits;
    case Opcode::builtin:
      return Attribute::builtin;
    case Opcode::scalar:
    case Opcode::extract:
    case Opcode::insert:
      return Attribute::number;
    case Opcode::length:
      return Attribute::memory;
    case Opcode::shape:
    case Opcode::stride:
      return Attribute::axis;
    case Opcode::load:
    case Opcode::load_or:
    case Opcode::store:
    case Opcode::uniform_load:
      return Attribute::memory;
    default:
      return info(code).has(trait_atomic) ? Attribute::memory : Attribute::nothing;
  }
}

std::string print(const Kernel& kernel) {
  return Printer(kernel).kernel();
}
std::string print_op(const Kernel& kernel, Value op) {
  return Printer(kernel).single(op);
}

}  // namespace tessera::ir
