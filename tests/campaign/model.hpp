// SPDX-License-Identifier: MIT OR Apache-2.0
// The sequential model: what the calls mean when each has run before the next is made.
//
// Per element it knows the value or the failure that left it unwritten, with every operation that
// may count as the root. (Which of several failing inputs is named depends on what was known when
// the launch was enqueued; that the launch did not run does not.)
#pragma once

#include <array>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "campaign/program.hpp"
#include "campaign/record.hpp"

namespace tessera::campaign {

struct Mismatch {
  enum class Kind : std::uint8_t { stale_read, wrong_error } kind;
  std::string text;
};

class Model {
 public:
  Model(const Program& program, const Record& record) : program_(program), record_(record) {}
  /// Goes through the program. The first disagreement, if any.
  std::optional<Mismatch> judge();

 private:
  using Roots = std::shared_ptr<const std::set<std::size_t>>;
  struct Element {
    std::uint32_t value = 0;
    Roots failure;  // null: sound
    std::uint8_t stream = 0;
    bool stream_open = false;  // the failure may be on another stream's account
  };
  struct Buffer {
    bool live = false;
    bool no_memory = false;
    std::vector<Element> elements;
  };

  void step(std::size_t index, const Op& op);
  void launch(std::size_t index, const Op& op, bool dynamic);
  void compare_read(std::size_t index, const Op& op);
  void compare_sync(std::size_t index, const Op& op);
  void compare_status(std::size_t index, const Op& op);
  Roots failure_in(const Range& range) const;
  static Roots join(const Roots& a, const Roots& b);
  void write(const Range& range, std::uint8_t stream, const Roots& failure);
  void fail_clean(const Range& range, std::uint8_t stream, const Roots& failure);
  bool root_allowed(const Error& error, const std::set<std::size_t>& roots) const;
  void mismatch(Mismatch::Kind kind, std::string text);
  std::vector<std::uint32_t> values(const Range& range) const;

  const Program& program_;
  const Record& record_;
  std::array<Buffer, buffer_slots> buffers_;
  std::optional<Mismatch> found_;
};

}  // namespace tessera::campaign
