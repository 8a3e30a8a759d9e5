// SPDX-License-Identifier: MIT OR Apache-2.0
// Errors as shared values, their chain of causes, and Result over them.
#include "tessera/error.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/result.hpp"

namespace tessera {
namespace {

Error fault() {
  return Error(ErrorKind::KernelFault, "Element 9 of 8 was written.", SourceLoc{"user.cpp", 12, ""})
      .with_kernel("scatter");
}

TEST(Error, KeepsWhatItWasMadeWith) {
  const Error e = fault();
  EXPECT_EQ(e.kind(), ErrorKind::KernelFault);
  EXPECT_EQ(e.message(), "Element 9 of 8 was written.");
  EXPECT_EQ(e.kernel(), "scatter");
  EXPECT_STREQ(e.where().file, "user.cpp");
  EXPECT_EQ(e.where().line, 12u);
  EXPECT_TRUE(e.context().empty());
  EXPECT_EQ(e.cause(), nullptr);
}

TEST(Error, AddingMakesACopyAndLeavesTheOriginal) {
  const Error e(ErrorKind::Io, "No such file.");
  const Error more = e.with_context("reading a picture").with_context("running the demo");
  EXPECT_TRUE(e.context().empty());
  EXPECT_EQ(more.context(), (std::vector<std::string>{"reading a picture", "running the demo"}));
  EXPECT_EQ(more.message(), e.message());
  const Error named = e.with_kernel("k");
  EXPECT_TRUE(e.kernel().empty());
  EXPECT_EQ(named.kernel(), "k");
}

TEST(Error, RootIsTheDeepestCause) {
  const Error root = fault();
  const Error middle = Error(ErrorKind::BufferFailed, "Buffer 3 is void.").with_cause(root);
  const Error outer = Error(ErrorKind::LaunchFailed, "The launch was left out.").with_cause(middle);
  ASSERT_NE(outer.cause(), nullptr);
  EXPECT_EQ(outer.cause()->message(), "Buffer 3 is void.");
  EXPECT_EQ(outer.root().message(), root.message());
  EXPECT_EQ(middle.root().message(), root.message());
  EXPECT_EQ(root.root().message(), root.message());
}

TEST(Error, RootOutlivesWhatItWasTakenFrom) {
  auto outer = std::make_unique<Error>(Error(ErrorKind::BufferFailed, "void").with_cause(fault()));
  const Error root = outer->root();
  outer.reset();
  EXPECT_EQ(root.kernel(), "scatter");
}

TEST(Error, SameRootIsIdentityOfTheFailureNotEqualityOfWords) {
  const Error a = fault();
  const Error b = fault();
  EXPECT_TRUE(a.same_root(a));
  EXPECT_FALSE(a.same_root(b)) << "two failures with the same words are still two";
  EXPECT_TRUE(a.same_root(a.with_context("x").with_kernel("y")));
  EXPECT_TRUE(a.with_context("x").same_root(a.with_context("z")));
  const Error one = Error(ErrorKind::BufferFailed, "one").with_cause(a);
  const Error two = Error(ErrorKind::BufferFailed, "two").with_cause(a.with_context("reading"));
  EXPECT_TRUE(one.same_root(two));
  EXPECT_TRUE(one.same_root(a));
  EXPECT_FALSE(one.same_root(Error(ErrorKind::BufferFailed, "one").with_cause(b)));
}

TEST(Error, FullTextNamesEverythingInOrder) {
  const std::string text = Error(ErrorKind::BufferFailed, "Buffer 3 is void.")
                               .with_context("reading y")
                               .with_cause(fault())
                               .full();
  std::size_t at = 0;
  for (const char* part : {"BufferFailed", "Buffer 3 is void.", "while reading y", "caused by",
                           "KernelFault", "Element 9 of 8", "user.cpp:12", "scatter"}) {
    const std::size_t found = text.find(part, at);
    ASSERT_NE(found, std::string::npos) << part << " is missing, or out of order, in:\n" << text;
    at = found;
  }
}

TEST(Error, AnUnknownPlaceIsNotPrinted) {
  EXPECT_EQ(Error(ErrorKind::Timeout, "The deadline of 5 ms passed.").full(),
            "Timeout: The deadline of 5 ms passed.");
}

TEST(Error, EveryKindHasItsOwnName) {
  std::vector<std::string> names;
  for (int k = 0; k <= static_cast<int>(ErrorKind::Io); ++k) {
    const std::string name(to_string(static_cast<ErrorKind>(k)));
    EXPECT_FALSE(name.empty());
    for (const std::string& other : names) EXPECT_NE(name, other);
    names.push_back(name);
  }
  EXPECT_EQ(to_string(ErrorKind::InvalidArgument), "InvalidArgument");
  EXPECT_EQ(to_string(ErrorKind::BufferFailed), "BufferFailed");
  EXPECT_EQ(to_string(ErrorKind::Io), "Io");
}

Result<int> half_of(int n) {
  if (n % 2 != 0) return Error(ErrorKind::InvalidArgument, std::to_string(n) + " is odd.");
  return n / 2;
}

TEST(Result, ChainsUntilTheFirstError) {
  EXPECT_EQ(half_of(12).and_then(half_of).value(), 3);
  const Result<int> r = half_of(6).and_then(half_of).and_then(half_of);
  ASSERT_FALSE(r.has_value());
  EXPECT_EQ(r.error().message(), "3 is odd.");
}

TEST(Result, TransformsEitherSideAndOnlyThat) {
  EXPECT_EQ(half_of(8).transform([](int n) { return std::to_string(n); }).value(), "4");
  int calls = 0;
  const auto failed = half_of(7).transform([&](int n) {
    ++calls;
    return n;
  });
  EXPECT_FALSE(failed.has_value());
  EXPECT_EQ(calls, 0);
  const auto told =
      half_of(7).transform_error([](const Error& e) { return e.with_context("halving"); });
  EXPECT_EQ(told.error().context(), std::vector<std::string>{"halving"});
  EXPECT_EQ(half_of(7).or_else([](const Error&) { return Result<int>(-1); }).value(), -1);
  EXPECT_EQ(half_of(8).or_else([](const Error&) { return Result<int>(-1); }).value(), 4);
  EXPECT_EQ(half_of(7).value_or(5), 5);
  EXPECT_EQ(half_of(8).value_or(5), 4);
}

TEST(Result, ValueOfAnErrorThrowsTheWholeText) {
  const Result<int> r = Error(ErrorKind::Io, "Gone.").with_context("reading");
  try {
    (void)r.value();
    FAIL() << "value() returned";
  } catch (const Exception& e) {
    EXPECT_EQ(std::string(e.what()), r.error().full());
    EXPECT_TRUE(e.error().same_root(r.error()));
  }
  const Status s = Error(ErrorKind::Io, "Gone.");
  EXPECT_THROW(s.value(), Exception);
  EXPECT_NO_THROW(Status().value());
}

TEST(Result, HoldsWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> r = std::make_unique<int>(7);
  const std::unique_ptr<int> p = std::move(r).value();
  EXPECT_EQ(*p, 7);
}

TEST(Result, StatusChains) {
  const Status ok;
  const Status bad = Error(ErrorKind::Io, "Gone.");
  int calls = 0;
  const auto next = [&] {
    ++calls;
    return Status();
  };
  EXPECT_TRUE(ok.and_then(next).has_value());
  EXPECT_FALSE(bad.and_then(next).has_value());
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(bad.or_else([](const Error&) { return Status(); }).has_value());
}

}  // namespace
}  // namespace tessera
