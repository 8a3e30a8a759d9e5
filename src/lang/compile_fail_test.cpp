// SPDX-License-Identifier: MIT OR Apache-2.0
// Mistakes that the host compiler must refuse, with the words that explain them. One file each in
// tests/compile_fail; the first line is `// EXPECT: ` and a regular expression of the message.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

namespace tessera::lang::testing {
namespace {

namespace fs = std::filesystem;

fs::path root() {
  return TESSERA_SOURCE_DIR;
}

struct Outcome {
  int status = 0;
  std::string text;
};

Outcome shell(const std::string& command) {
  Outcome outcome;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {-1, "no shell"};
  std::array<char, 4096> piece{};
  while (const std::size_t n = std::fread(piece.data(), 1, piece.size(), pipe)) {
    outcome.text.append(piece.data(), n);
  }
  outcome.status = pclose(pipe);
  return outcome;
}

Outcome compile(const std::string& compiler, const fs::path& file, const std::string& flags) {
  return shell(compiler + " -std=c++20 -fsyntax-only -I'" + (root() / "include").string() + "' " +
               flags + " '" + file.string() + "'");
}

std::vector<fs::path> files() {
  std::vector<fs::path> found;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(root() / "tests" / "compile_fail", ec)) {
    if (entry.path().extension() == ".cpp") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

class CompileFail : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (shell(std::string("command -v ") + GetParam()).status != 0) {
      GTEST_SKIP() << GetParam() << " is not installed";
    }
    ASSERT_FALSE(files().empty()) << "the source tree is not where it was built";
  }
};

// Before the refusals mean anything: the same flags accept correct code, warnings included.
TEST_P(CompileFail, TheControlCompiles) {
  const fs::path control = root() / "tests" / "compile_fail" / "compiles.cpp";
  for (const char* flags : {"-Wall -Wextra -Wpedantic -Wshadow -Werror", "-fno-exceptions"}) {
    const Outcome outcome = compile(GetParam(), control, flags);
    EXPECT_EQ(outcome.status, 0) << flags << '\n' << outcome.text;
  }
}

TEST_P(CompileFail, EveryMistakeIsExplained) {
  int tried = 0;
  for (const fs::path& file : files()) {
    std::string first;
    std::ifstream in(file);
    std::getline(in, first);
    const std::string prefix = "// EXPECT: ";
    ASSERT_EQ(first.substr(0, prefix.size()), prefix) << file;
    if (file.filename() == "compiles.cpp") continue;
    const Outcome outcome = compile(GetParam(), file, "");
    EXPECT_NE(outcome.status, 0) << file << " compiles";
    EXPECT_TRUE(std::regex_search(outcome.text,
                                  std::regex(first.substr(prefix.size()), std::regex::extended)))
        << file << " expected " << first.substr(prefix.size()) << " in\n"
        << outcome.text;
    ++tried;
  }
  EXPECT_GE(tried, 25);
}

TEST_P(CompileFail, EveryHeaderCompilesAlone) {
  std::vector<fs::path> headers{root() / "include" / "tessera" / "kernel.hpp"};
  for (const auto& entry : fs::directory_iterator(root() / "include" / "tessera" / "lang")) {
    if (entry.path().extension() == ".hpp") headers.push_back(entry.path());
  }
  for (const fs::path& header : headers) {
    const Outcome outcome = compile(
        GetParam(), "/dev/null", "-Wall -Wextra -Werror -x c++ -include '" + header.string() + "'");
    EXPECT_EQ(outcome.status, 0) << header << '\n' << outcome.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Compilers, CompileFail, ::testing::Values("g++", "clang++-19"),
                         [](const auto& compiler) {
                           return std::string(compiler.param).substr(0, 1) == "g" ? "Gcc" : "Clang";
                         });

}  // namespace
}  // namespace tessera::lang::testing
