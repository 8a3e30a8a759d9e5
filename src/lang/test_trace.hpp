// SPDX-License-Identifier: MIT OR Apache-2.0
// For the tests of this folder: trace a kernel function by its signature and run it on the host.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "ir/interpreter.hpp"
#include "ir/kernel.hpp"
#include "ir/text.hpp"
#include "lang/trace.hpp"
#include "tessera/kernel.hpp"
#include "tessera/lang/signature.hpp"

namespace tessera::lang::testing {

using Units = std::array<std::uint32_t, 3>;

/// Traces a function or captureless lambda. `stored` holds comptime values and tensor ranks.
template <class F>
class Traced {
 public:
  using Function = std::conditional_t<std::is_class_v<F>, detail::function_of<F>, F>;
  using Signature = detail::Signature<Function>;
  using Stored = typename Signature::Stored;

  static Result<ir::Kernel> kernel(F function, Units units, Stored stored, bool checked = true) {
    TraceInput input;
    input.name = "test";
    input.units = units;
    input.checked = checked;
    ranks(stored, input, std::make_index_sequence<Signature::count>());
    Context context{function, stored};
    return trace(std::move(input), &body, &context);
  }

 private:
  struct Context {
    Function function;
    Stored stored;
  };
  static void body(void* context) {
    auto& c = *static_cast<Context*>(context);
    Signature::call(c.function, c.stored);
  }
  template <std::size_t... I>
  static void ranks(const Stored& stored, TraceInput& input, std::index_sequence<I...>) {
    (add(Signature::params[I], std::get<I>(stored), input), ...);
  }
  template <class S>
  static void add(const detail::ParamDesc& p, const S& stored, TraceInput& input) {
    if (p.kind == detail::ParamKind::scalar) {
      input.scalars.push_back({"s" + std::to_string(input.scalars.size()), p.type.elem});
    } else if (p.kind != detail::ParamKind::comptime) {
      ir::BindingParam b;
      b.name = "b" + std::to_string(input.bindings.size());
      b.type = p.type;
      b.declared = p.access;
      b.atomic = p.atomic;
      if constexpr (requires { stored.rank; }) b.rank = stored.rank;
      input.bindings.push_back(b);
    }
  }
};

template <class F>
Result<ir::Kernel> traced(F function, Units units = {8, 1, 1},
                          typename Traced<F>::Stored stored = {}, bool checked = true) {
  return Traced<F>::kernel(function, units, stored, checked);
}

/// The message of a trace that must have failed, or a text that no test expects.
template <class F>
std::string refusal(F function, typename Traced<F>::Stored stored = {}) {
  const auto kernel = traced(function, {8, 1, 1}, stored);
  if (kernel) return "(traced without an error)";
  EXPECT_EQ(kernel.error().kind(), ErrorKind::CompileFailed);
  EXPECT_EQ(kernel.error().kernel(), "test");
  return kernel.error().message();
}

inline std::string at_line(const char* file, int line) {
  return std::string(file) + ":" + std::to_string(line);
}
#define TESSERA_HERE(line) ::tessera::lang::testing::at_line(__FILE__, line)
/// The message names each of these texts.
#define EXPECT_NAMES(message, text) \
  EXPECT_NE((message).find(text), std::string::npos) << (message) << "\nlacks " << (text)

inline int count_ops(const ir::Kernel& k, detail::Opcode code) {
  int n = 0;
  for (const ir::Region& r : k.regions) {
    for (const ir::Value v : r.ops) n += k.op(v).code == code ? 1 : 0;
  }
  return n;
}

/// Buffers and parameter words of one run. Outputs start as a poison that no test expects.
class Host {
 public:
  template <class T>
  Host& in(const std::vector<T>& values) {
    Memory m{std::vector<std::byte>(values.size() * sizeof(T)), {}, values.size(), {}, {}};
    if (!values.empty()) std::memcpy(m.data.data(), values.data(), m.data.size());
    m.written.assign(m.data.size(), 1);
    memory_.push_back(std::move(m));
    return *this;
  }
  template <class T>
  Host& out(std::size_t count) {
    Memory m{std::vector<std::byte>(count * sizeof(T), std::byte{0xA5}), {}, count, {}, {}};
    m.written.assign(m.data.size(), 0);
    memory_.push_back(std::move(m));
    return *this;
  }
  /// Gives the last buffer a shape and strides.
  Host& shaped(std::vector<std::uint64_t> shape, std::vector<std::uint64_t> strides) {
    memory_.back().shape = std::move(shape);
    memory_.back().strides = std::move(strides);
    return *this;
  }
  template <class T>
  Host& scalar(T value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    scalars_.push_back(bits);
    return *this;
  }

  ir::RunOutcome run(const ir::Kernel& kernel, Units cubes, bool find_unwritten = true) {
    std::vector<std::uint64_t> words = scalars_;
    for (const Memory& m : memory_) words.push_back(m.length);
    for (const Memory& m : memory_) {
      words.insert(words.end(), m.shape.begin(), m.shape.end());
      words.insert(words.end(), m.strides.begin(), m.strides.end());
    }
    std::vector<ir::BufferView> views;
    for (Memory& m : memory_) views.push_back({m.data, m.written});
    ir::RunOptions options;
    options.cubes = cubes;
    options.find_races = true;
    options.find_unwritten = find_unwritten;
    auto outcome = ir::run(kernel, views, words, options);
    if (!outcome) {
      ADD_FAILURE() << outcome.error().message();
      return {};
    }
    for (const ir::Finding& f : outcome->findings) ADD_FAILURE() << f.message;
    return *std::move(outcome);
  }

  template <class T>
  std::vector<T> get(std::size_t binding) const {
    const auto& data = memory_[binding].data;
    std::vector<T> values(data.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), data.data(), data.size());
    return values;
  }

 private:
  struct Memory {
    std::vector<std::byte> data;
    std::vector<std::uint8_t> written;
    std::size_t length;
    std::vector<std::uint64_t> shape, strides;
  };
  std::vector<Memory> memory_;
  std::vector<std::uint64_t> scalars_;
};

/// Traces and runs `function` on one cube of `units`, and expects no fault.
template <class F>
void run_one(F function, Host& host, std::uint32_t units, typename Traced<F>::Stored stored = {},
             bool find_unwritten = true) {
  const auto kernel = traced(function, {units, 1, 1}, stored);
  ASSERT_TRUE(kernel) << kernel.error().message();
  const ir::RunOutcome outcome = host.run(*kernel, {1, 1, 1}, find_unwritten);
  EXPECT_FALSE(outcome.fault.has_value()) << ir::print(*kernel);
}

}  // namespace tessera::lang::testing
