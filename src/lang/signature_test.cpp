// SPDX-License-Identifier: MIT OR Apache-2.0
// What a kernel looks like from outside: its parameters, its name, its identity, its key.
#include <set>

#include "lang/test_trace.hpp"

namespace tessera::lang::testing {
namespace {

using detail::Access;
using detail::append_key;
using detail::ParamKind;

enum class Mode { slow, fast };
struct Settings {
  int width = 1;
  float scale = 1;
};

template <class T>
void everything(In<T>, Out<Vec<T, 4>>, InOut<Atomic<u32>>, TensorIn<T>, TensorOut<T>,
                const TensorInOut<T>&, Scalar<i32>, Const<std::uint32_t>, Mode, Settings) {}

TEST(Signature, DescribesEveryParameter) {
  using S = detail::Signature<decltype(&everything<float>)>;
  ASSERT_EQ(S::params.size(), 10u);
  const auto expect = [](std::size_t i, ParamKind kind, ElemType type, Access access, bool atomic) {
    EXPECT_EQ(S::params[i].kind, kind) << i;
    EXPECT_EQ(S::params[i].type, type) << i;
    EXPECT_EQ(S::params[i].access, access) << i;
    EXPECT_EQ(S::params[i].atomic, atomic) << i;
  };
  const ElemType f{Elem::f32, 1};
  expect(0, ParamKind::buffer, f, Access::in, false);
  expect(1, ParamKind::buffer, {Elem::f32, 4}, Access::out, false);
  expect(2, ParamKind::buffer, {Elem::u32, 1}, Access::inout, true);
  expect(3, ParamKind::tensor, f, Access::in, false);
  expect(4, ParamKind::tensor, f, Access::out, false);
  expect(5, ParamKind::tensor, f, Access::inout, false);
  expect(6, ParamKind::scalar, {Elem::i32, 1}, Access::none, false);
  for (std::size_t i = 7; i < 10; ++i) expect(i, ParamKind::comptime, {}, Access::none, false);
}

void many(Scalar<u32> a, In<u32> x, Scalar<u32> b, Out<u32> y, Const<std::uint32_t> c) {
  y[0] = x[0] * 1000 + a * 100 + b * 10 + c;
}
TEST(Signature, ParametersAreNumberedInOrder) {
  Host host;
  host.in(std::vector<u32>{1}).out<u32>(1).scalar<u32>(2).scalar<u32>(3);
  run_one(&many, host, 1, {{}, {}, {}, {}, 4u});
  EXPECT_EQ(host.get<u32>(1)[0], 1234u);
}

void plain() {}
TEST(Signature, NamesAndIdentities) {
  EXPECT_NE(detail::kernel_name<&many>().find("many"), std::string_view::npos);
  // clang leaves the template arguments out.
  EXPECT_NE(detail::kernel_name<&everything<float>>().find("everything"), std::string_view::npos);
  EXPECT_EQ(detail::kernel_name<&plain>().find("K = "), std::string_view::npos);
  EXPECT_EQ(detail::kernel_name<&plain>().find(']'), std::string_view::npos);
  const auto one = [](Out<u32>) {};
  const auto two = [](Out<u32>) {};
  const std::set<const void*> tags{&detail::KernelTag<&many>::tag,
                                   &detail::KernelTag<&plain>::tag,
                                   &detail::KernelTag<&everything<float>>::tag,
                                   &detail::KernelTag<&everything<double>>::tag,
                                   &detail::LambdaTag<decltype(one)>::tag,
                                   &detail::LambdaTag<decltype(two)>::tag};
  EXPECT_EQ(tags.size(), 6u);
}

template <class T>
std::string key(const T& value) {
  std::string k;
  append_key(k, value);
  return k;
}

struct Inner {
  std::array<int, 3> sizes{1, 2, 3};
  bool flag = false;
};
struct Outer {
  Mode mode = Mode::slow;
  Inner inner;
  std::uint8_t a = 1, b = 2, c = 3;
  double d = 0.5;
};
struct One {
  float only = 1;
};
struct Empty {};
struct Twelve {
  int a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, i = 0, j = 0, k = 0, l = 0;
};

TEST(Comptime, EveryMemberCounts) {
  const std::string base = key(Outer{});
  EXPECT_EQ(base, key(Outer{}));
  std::set<std::string> keys{base};
  const auto changed = [&](auto change) {
    Outer o;
    change(o);
    keys.insert(key(o));
  };
  changed([](Outer& o) { o.mode = Mode::fast; });
  changed([](Outer& o) { o.inner.sizes[0] = 9; });
  changed([](Outer& o) { o.inner.sizes[2] = 9; });
  changed([](Outer& o) { o.inner.flag = true; });
  changed([](Outer& o) { o.a = 9; });
  changed([](Outer& o) { o.b = 9; });
  changed([](Outer& o) { o.c = 9; });
  changed([](Outer& o) { o.d = 0.25; });
  EXPECT_EQ(keys.size(), 9u);

  Twelve last;
  last.l = 1;
  EXPECT_NE(key(Twelve{}), key(last));
  EXPECT_NE(key(One{1}), key(One{2}));
  EXPECT_EQ(key(Empty{}), "");
}

TEST(Comptime, FloatsGoByTheirBits) {
  EXPECT_NE(key(0.0f), key(-0.0f));
  EXPECT_EQ(key(std::numeric_limits<float>::quiet_NaN()),
            key(std::numeric_limits<float>::quiet_NaN()));
  EXPECT_NE(key(f16(1.f)), key(f16(2.f)));
}

// Neighbours must not run into each other.
TEST(Comptime, StringsCarryTheirLength) {
  struct Pair {
    std::string_view a, b;
  };
  EXPECT_NE(key(std::string_view("ab")), key(std::string_view("ac")));
  std::string ab_c, a_bc;
  append_key(ab_c, std::string_view("ab"));
  append_key(ab_c, std::string_view("c"));
  append_key(a_bc, std::string_view("a"));
  append_key(a_bc, std::string_view("bc"));
  EXPECT_NE(ab_c, a_bc);
  EXPECT_NE(key(Pair{"ab", "c"}), key(Pair{"a", "bc"}));
}

TEST(Comptime, OptionalsTellNothingFromZero) {
  EXPECT_NE(key(std::optional<int>()), key(std::optional<int>(0)));
  EXPECT_NE(key(std::optional<int>(1)), key(std::optional<int>(0)));
}

// Padding is no part of a value.
TEST(Comptime, PaddingDoesNotCount) {
  struct Padded {
    char a;
    int b;
  };
  alignas(Padded) unsigned char x[sizeof(Padded)], y[sizeof(Padded)];
  std::memset(x, 0x11, sizeof x);
  std::memset(y, 0x22, sizeof y);
  auto* p = ::new (x) Padded;
  auto* q = ::new (y) Padded;
  p->a = q->a = 'k';
  p->b = q->b = 7;
  EXPECT_EQ(key(*p), key(*q));
}

}  // namespace
}  // namespace tessera::lang::testing
