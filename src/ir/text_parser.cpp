// SPDX-License-Identifier: MIT OR Apache-2.0
// Reads what text.cpp prints. Any input ends in a kernel or in one error with line and column.
#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <unordered_map>

#include "ir/op_info.hpp"
#include "ir/text.hpp"
#include "ir/text_words.hpp"

namespace tessera::ir {
namespace {

constexpr int max_depth = 200;  // of nested regions: the parser recurses

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Kernel> run() {
    if (kernel() && (skip(), at_ == text_.size())) return std::move(k_);
    if (error_.empty()) refuse("Text follows the kernel");
    return Error(ErrorKind::InvalidArgument, error_);
  }

 private:
  bool refuse(std::string_view why) {
    if (!error_.empty()) return false;
    std::size_t line = 1, column = 1;
    for (std::size_t i = 0; i < at_ && i < text_.size(); ++i) {
      if (text_[i] == '\n') {
        ++line;
        column = 1;
      } else {
        ++column;
      }
    }
    error_ = fmt::format("{} at line {}, column {} of the kernel's text.", why, line, column);
    return false;
  }

  void skip() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
      ++at_;
    }
  }
  bool try_take(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  bool take(std::string_view token) {
    return try_take(token) || refuse(fmt::format("\"{}\" is expected", token));
  }
  std::string_view peek_word() {
    skip();
    std::size_t end = at_;
    while (end < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '_')) {
      ++end;
    }
    return text_.substr(at_, end - at_);
  }
  std::string_view word() {
    const std::string_view w = peek_word();
    at_ += w.size();
    return w;
  }
  bool number(std::uint64_t& out, int base = 10) {
    skip();
    const char* begin = text_.data() + at_;
    const auto [end, failed] = std::from_chars(begin, text_.data() + text_.size(), out, base);
    if (failed != std::errc() || end == begin) return refuse("A number is expected");
    at_ += static_cast<std::size_t>(end - begin);
    return true;
  }
  template <class N>
  bool small(N& out, std::uint64_t limit = 0xffffffffu) {
    std::uint64_t n = 0;
    if (!number(n)) return false;
    if (n > limit) return refuse("The number is too large");
    out = static_cast<N>(n);
    return true;
  }
  bool string(std::string& out) {
    if (!take("\"")) return false;
    out.clear();
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] != '\\') {
        out += text_[at_++];
        continue;
      }
      if (at_ + 1 >= text_.size()) return refuse("The string does not end");
      if (text_[at_ + 1] == 'x') {
        unsigned byte = 0;
        if (at_ + 4 > text_.size()) return refuse("The string does not end");
        const char* digits = text_.data() + at_ + 2;
        const auto [end, failed] = std::from_chars(digits, digits + 2, byte, 16);
        if (failed != std::errc() || end != digits + 2)
          return refuse("Two hex digits are expected");
        out += static_cast<char>(byte);
        at_ += 4;
      } else {
        out += text_[at_ + 1];
        at_ += 2;
      }
    }
    return take("\"");
  }
  bool elem(Elem& out) {
    const std::string_view w = word();
    for (int i = 1; i <= static_cast<int>(Elem::index); ++i) {
      if (to_string(static_cast<Elem>(i)) == w) {
        out = static_cast<Elem>(i);
        return true;
      }
    }
    return refuse("An element type is expected");
  }
  bool type(Type& out) {
    out.lanes = 1;
    if (try_take("vec")) {
      if (!small(out.lanes, 16)) return false;
      if (out.lanes < 2) return refuse("A vector has at least 2 lanes");
      if (!take("<") || !elem(out.elem)) return false;
      return take(">");
    }
    return elem(out.elem);
  }
  bool access(Access& out) {
    const auto i = find_word(access_words, word());
    if (!i) return refuse("none, in, out or inout is expected");
    out = static_cast<Access>(*i);
    return true;
  }
  bool memory(std::uint64_t& out) {
    MemoryRef m;
    if (try_take("s")) {
      m.shared = true;
    } else if (!take("b")) {
      return false;
    }
    if (!small(m.index)) return false;
    out = detail::pack(m);
    return true;
  }

  bool kernel() {
    if (!take("kernel") || !string(k_.name) || !take("units=(")) return false;
    if (!small(k_.units[0]) || !take(",") || !small(k_.units[1]) || !take(",") ||
        !small(k_.units[2]) || !take(")")) {
      return false;
    }
    k_.checked = !try_take("unchecked");
    if (k_.checked && !take("checked")) return false;
    if (!take("{")) return false;
    for (;;) {
      const std::string_view w = peek_word();
      if (w.empty()) break;
      if (!declaration(word())) return false;
    }
    return region(0, 0) && take("}");
  }

  bool declaration(std::string_view kind) {
    if (kind == "loc") {
      k_.locs.emplace_back();
      return string(k_.locs.back().file) && small(k_.locs.back().line);
    }
    if (kind == "buffer") {
      k_.bindings.emplace_back();
      BindingParam& b = k_.bindings.back();
      if (!string(b.name) || !type(b.type) || !access(b.declared) || !take("rank=") ||
          !small(b.rank, 255)) {
        return false;
      }
      b.atomic = try_take("atomic");
      return take("io=") && access(b.analysed);
    }
    if (kind == "scalar") {
      k_.scalars.emplace_back();
      return string(k_.scalars.back().name) && elem(k_.scalars.back().elem);
    }
    if (kind == "shared") {
      k_.shared.emplace_back();
      SharedBlock& s = k_.shared.back();
      if (!type(s.type) || !take("x") || !number(s.count)) return false;
      s.atomic = try_take("atomic");
      return take("@") && small(s.loc);
    }
    if (kind == "site") {
      k_.sites.emplace_back();
      Site& s = k_.sites.back();
      const auto i = find_word(site_words, word());
      std::uint64_t m = 0;
      if (!i) return refuse("load, store, atomic or check is expected");
      s.kind = static_cast<SiteKind>(*i);
      if (!memory(m) || !take("@") || !small(s.loc) || !string(s.text)) return false;
      s.memory = detail::unpack_memory(m);
      return true;
    }
    return refuse("loc, buffer, scalar, shared, site or a region is expected");
  }

  bool region(RegionId id, int depth) {
    if (depth > max_depth) return refuse("Regions are nested too deeply");
    if (!take("{")) return false;
    while (!try_take("}")) {
      if (at_ >= text_.size()) return refuse("A region does not end");
      if (!operation(id, depth)) return false;
    }
    return true;
  }

  bool attribute(Op& op) {
    switch (attribute_of(op.code)) {
      case Attribute::nothing:
        return true;
      case Attribute::bits:
        return take("0x") && number(op.attr, 16);
      case Attribute::number:
        return number(op.attr);
      case Attribute::builtin: {
        const auto b = builtin_from_name(word());
        if (!b) return refuse("A builtin is expected");
        op.attr = static_cast<std::uint64_t>(*b);
        return true;
      }
      case Attribute::memory:
        return memory(op.attr);
      case Attribute::axis: {
        std::uint64_t axis = 0;
        if (!memory(op.attr) || !take(":") || !small(axis)) return false;
        op.attr |= axis << 32;
        return true;
      }
    }
    return false;
  }

  bool operation(RegionId id, int depth) {
    Op op;
    std::uint64_t result = 0;
    const bool named = try_take("%");
    if (named && (!number(result) || !take("="))) return false;
    const auto code = opcode_from_name(word());
    if (!code) return refuse("An operation is expected");
    op.code = *code;
    for (;;) {
      if (try_take(".checked")) {
        op.flags |= flag_checked;
      } else if (try_take(".contract")) {
        op.flags |= flag_contract;
      } else {
        break;
      }
    }
    if (!attribute(op)) return false;
    op.operand_begin = static_cast<std::uint32_t>(k_.operands.size());
    while (try_take("%")) {
      std::uint64_t n = 0;
      if (!number(n)) return false;
      const auto it = names_.find(n);
      if (it == names_.end()) return refuse("A value is used before it is made");
      if (op.operand_count == 0xffff) return refuse("Too many operands");
      k_.operands.push_back(it->second);
      ++op.operand_count;
      if (!try_take(",")) break;
    }
    if (named && (!take(":") || !type(op.type))) return false;
    if (!take("@") || !small(op.loc)) return false;
    if (try_take("!") && !small(op.site)) return false;
    const int regions = op.code == Opcode::if_                               ? 2
                        : op.code == Opcode::for_ || op.code == Opcode::loop ? 1
                                                                             : 0;
    op.region_count = static_cast<std::uint16_t>(regions);
    if (regions > 0) op.region_begin = static_cast<RegionId>(k_.regions.size());
    k_.regions.resize(k_.regions.size() + static_cast<std::size_t>(regions));
    const Value v = static_cast<Value>(k_.ops.size());
    k_.ops.push_back(op);
    k_.regions[id].ops.push_back(v);
    if (named && !names_.emplace(result, v).second) return refuse("A value is made twice");
    for (int r = 0; r < regions; ++r) {
      if (!region(op.region_begin + static_cast<RegionId>(r), depth + 1)) return false;
    }
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string error_;
  Kernel k_;
  std::unordered_map<std::uint64_t, Value> names_;
};

}  // namespace

Result<Kernel> parse(std::string_view text) {
  return Parser(text).run();
}

}  // namespace tessera::ir
