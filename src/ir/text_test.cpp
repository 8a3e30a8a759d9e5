// SPDX-License-Identifier: MIT OR Apache-2.0
// The text form: it comes back byte for byte, and no text crashes the parser.
#include "ir/text.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <random>
#include <string>
#include <vector>

#include "ir/random_program.hpp"
#include "ir/test_kernel.hpp"
#include "ir/verifier.hpp"

namespace tessera::ir {
namespace {

/// The text gives a kernel, whose print comes back again, or an InvalidArgument with its place.
void expect_kernel_or_refusal(const std::string& text) {
  const auto parsed = parse(text);
  if (!parsed) {
    EXPECT_EQ(parsed.error().kind(), ErrorKind::InvalidArgument);
    EXPECT_NE(parsed.error().message().find("line "), std::string::npos);
    EXPECT_NE(parsed.error().message().find("column "), std::string::npos);
    return;
  }
  // A parsed kernel may be wrong, but it can be judged and printed.
  (void)verify(*parsed);
  const std::string printed = print(*parsed);
  const auto again = parse(printed);
  ASSERT_TRUE(again) << again.error().message() << '\n' << printed;
  EXPECT_EQ(print(*again), printed);
}

std::string refusal(std::string_view text) {
  const auto parsed = parse(text);
  if (parsed) return "(parsed)";
  EXPECT_EQ(parsed.error().kind(), ErrorKind::InvalidArgument);
  return parsed.error().message();
}

TEST(Text, RandomProgramsComeBack) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Kernel kernel = random_kernel(seed);
    const std::string text = print(kernel);
    const auto parsed = parse(text);
    ASSERT_TRUE(parsed) << "seed " << seed << ": " << parsed.error().message() << '\n' << text;
    ASSERT_EQ(print(*parsed), text) << "seed " << seed;
    const Status verified = verify(*parsed);
    EXPECT_TRUE(verified) << "seed " << seed << ": " << verified.error().message();
  }
}

// What the random programs do not have: tensors, atomics, names that need quoting.
Kernel everything() {
  TestKernel t(4, "a \"quoted\" \\ name\n\x01\x7f");
  t.k.units = {4, 2, 3};
  t.k.checked = false;
  const MemoryRef tensor = t.binding("x\ty", t.f32, Access::inout, 3);
  const MemoryRef atomics = t.binding("", t.u32, Access::inout);
  t.k.bindings[1].atomic = true;
  t.k.bindings[1].analysed = Access::none;
  const MemoryRef shared = t.shared({Elem::i32, 1}, std::uint64_t{1} << 40);
  t.k.shared[0].atomic = true;
  const Value s = t.scalar("s", Elem::f64);
  const Value i = t.op(Opcode::shape, t.index, {}, 0 | std::uint64_t{2} << 32);
  const Value j = t.op(Opcode::stride, t.index, {}, 0 | std::uint64_t{1} << 32);
  const Value x = t.load(tensor, {i, j, t.idx(~std::uint64_t{0})});
  t.store(tensor, {i, j, i}, x);
  const Value one = t.constant(Elem::u32, 1);
  t.atomic(Opcode::atomic_cas, atomics, {i, one, one});
  t.atomic(Opcode::atomic_store, shared, {j, t.constant(Elem::i32, 0xffffffff)});
  t.check(t.op(Opcode::is_nan, t.boolean, {s}), "it \"must\" hold\n");
  t.k.locs[0].file = "C:\\a b\\\xc3\xa4.k";
  return t.k;
}
TEST(Text, EverythingElseComesBack) {
  const Kernel kernel = everything();
  const Status verified = verify(kernel);
  ASSERT_TRUE(verified) << verified.error().message();
  const std::string text = print(kernel);
  const auto parsed = parse(text);
  ASSERT_TRUE(parsed) << parsed.error().message() << '\n' << text;
  EXPECT_EQ(print(*parsed), text);
  EXPECT_EQ(parsed->name, kernel.name);
  EXPECT_EQ(parsed->units, kernel.units);
  EXPECT_FALSE(parsed->checked);
  EXPECT_EQ(parsed->locs[0].file, kernel.locs[0].file);
  EXPECT_EQ(parsed->shared[0].count, kernel.shared[0].count);
  EXPECT_EQ(parsed->bindings[1].analysed, Access::none);
  EXPECT_EQ(parsed->sites.back().text, kernel.sites.back().text);
}

TEST(Text, EmptyKernelComesBack) {
  const std::string text = print(Kernel{});
  const auto parsed = parse(text);
  ASSERT_TRUE(parsed) << parsed.error().message() << '\n' << text;
  EXPECT_EQ(print(*parsed), text);
}

TEST(Text, PrintOpIsALineOfPrint) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Kernel kernel = random_kernel(seed);
    const std::string text = print(kernel);
    for (const Region& r : kernel.regions) {
      for (const Value v : r.ops) {
        EXPECT_NE(text.find(" " + print_op(kernel, v) + " @"), std::string::npos)
            << print_op(kernel, v);
      }
    }
  }
}

// Only the ids differ: the second kernel's operations stand in its arena the other way round.
TEST(Text, EqualProgramsPrintEqually) {
  TestKernel t;
  const Value a = t.idx(1), b = t.idx(2);
  t.op(Opcode::add, t.index, {a, b});
  Kernel other = t.k;
  std::swap(other.ops[a], other.ops[b]);
  other.regions[0].ops = {b, a, 2};
  std::swap(other.args(2)[0], other.args(2)[1]);
  EXPECT_EQ(print(other), print(t.k));
}

TEST(Text, TruncationsAreRefused) {
  for (const std::string& text :
       {print(random_kernel(1)), print(random_kernel(4)), print(everything())}) {
    const std::size_t whole = text.find_last_not_of('\n') + 1;
    for (std::size_t size = 0; size < whole; size += 7) {
      EXPECT_NE(refusal(std::string_view(text).substr(0, size)), "(parsed)") << size;
    }
  }
}

TEST(Text, FlippedBitsNeverCrash) {
  std::mt19937 random(11);
  for (const std::string& text :
       {print(random_kernel(2)), print(random_kernel(9)), print(everything())}) {
    for (int round = 0; round < 400; ++round) {
      std::string broken = text;
      const int flips = 1 + round % 3;
      for (int f = 0; f < flips; ++f) {
        broken[random() % broken.size()] ^= static_cast<char>(1u << (random() % 8));
      }
      expect_kernel_or_refusal(broken);
    }
  }
}

TEST(Text, ReplacedDigitsNeverCrash) {
  std::mt19937 random(12);
  const std::string text = print(everything());
  for (int round = 0; round < 400; ++round) {
    std::string broken = text;
    const std::size_t at = random() % broken.size();
    if (std::isdigit(static_cast<unsigned char>(broken[at])) == 0) continue;
    broken.replace(at, 1, round % 2 == 0 ? "4294967295" : "99999999999999999999");
    expect_kernel_or_refusal(broken);
  }
}

TEST(Text, DroppedAndDoubledLinesNeverCrash) {
  const std::string text = print(random_kernel(3));
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    lines.push_back(text.substr(at, end - at));
    at = end;
  }
  for (std::size_t odd = 0; odd < lines.size(); ++odd) {
    for (const std::size_t copies : {std::size_t{0}, std::size_t{2}}) {
      std::string broken;
      for (std::size_t i = 0; i < lines.size(); ++i) {
        for (std::size_t c = 0; c < (i == odd ? copies : 1); ++c) broken += lines[i];
      }
      expect_kernel_or_refusal(broken);
    }
  }
}

TEST(Text, RefusalsNameTheirPlace) {
  const std::string head = "kernel \"k\" units=(1,1,1) checked {\n";
  EXPECT_NE(refusal(head + "  {\n    %0 = nonsense : u32 @0\n  }\n}\n").find("line 3"),
            std::string::npos);
  EXPECT_NE(refusal(head + "  {\n    %1 = neg %0 : i32 @0\n  }\n}\n").find("line 3"),
            std::string::npos);
  EXPECT_NE(refusal(head + "  {\n  }\n}\nmore").find("line 5"), std::string::npos);
  EXPECT_NE(refusal(head + "  shared vec0<u32> x 4 @0\n").find("line 2"), std::string::npos);
  EXPECT_NE(refusal("").find("line 1, column 1"), std::string::npos);
  EXPECT_NE(refusal(head + "  loc \"a 1\n").find("line"), std::string::npos);
  EXPECT_NE(refusal(head + "  loc \"\\x4\" 1\n").find("line 2"), std::string::npos);
}

TEST(Text, DeepNestingIsRefused) {
  std::string text = "kernel \"k\" units=(1,1,1) checked {\n {\n";
  for (int i = 0; i < 100'000; ++i) text += "loop @0 {\n";
  EXPECT_NE(refusal(text), "(parsed)");
}

}  // namespace
}  // namespace tessera::ir
