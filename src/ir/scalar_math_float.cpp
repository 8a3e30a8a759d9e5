// SPDX-License-Identifier: MIT OR Apache-2.0
// Float operations. f32 functions that are not exactly rounded by IEEE compute in f64 and round.
#include <bit>
#include <cmath>

#include "ir/scalar_math_lanes.hpp"

namespace tessera::ir::math {
namespace {

struct Add {
  template <class T>
  static T apply(T a, T b) {
    return a + b;
  }
};
struct Sub {
  template <class T>
  static T apply(T a, T b) {
    return a - b;
  }
};
struct Mul {
  template <class T>
  static T apply(T a, T b) {
    return a * b;
  }
};
struct Div {
  template <class T>
  static T apply(T a, T b) {
    return a / b;
  }
};
struct Rem {
  template <class T>
  static T apply(T a, T b) {
    return std::fmod(a, b);
  }
};
struct Mod {
  template <class T>
  static T apply(T a, T b) {
    const T r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
};
// A NaN operand makes the sum one; equal operands differ at most in the sign of a zero.
struct Min {
  template <class T>
  static T apply(T a, T b) {
    if (a != a || b != b) return a + b;
    if (a == b) return std::signbit(a) ? a : b;
    return a < b ? a : b;
  }
};
struct Max {
  template <class T>
  static T apply(T a, T b) {
    if (a != a || b != b) return a + b;
    if (a == b) return std::signbit(a) ? b : a;
    return a < b ? b : a;
  }
};
struct Clamp {
  template <class T>
  static T apply(T x, T lo, T hi) {
    return Min::apply(Max::apply(x, lo), hi);
  }
};

struct Floor {
  template <class T>
  static T apply(T a) {
    return std::floor(a);
  }
};
struct Ceil {
  template <class T>
  static T apply(T a) {
    return std::ceil(a);
  }
};
struct Trunc {
  template <class T>
  static T apply(T a) {
    return std::trunc(a);
  }
};
struct Round {
  template <class T>
  static T apply(T a) {
    return std::nearbyint(a);
  }
};
struct Sqrt {
  template <class T>
  static T apply(T a) {
    return std::sqrt(a);
  }
};

#define TESSERA_THROUGH_F64(Name, expression)      \
  struct Name {                                    \
    template <class T>                             \
    static T apply(T value) {                      \
      const double x = static_cast<double>(value); \
      return static_cast<T>(expression);           \
    }                                              \
  }
TESSERA_THROUGH_F64(InverseSqrt, 1.0 / std::sqrt(x));
TESSERA_THROUGH_F64(Exp, std::exp(x));
TESSERA_THROUGH_F64(Exp2, std::exp2(x));
TESSERA_THROUGH_F64(Log, std::log(x));
TESSERA_THROUGH_F64(Log2, std::log2(x));
TESSERA_THROUGH_F64(Sin, std::sin(x));
TESSERA_THROUGH_F64(Cos, std::cos(x));
TESSERA_THROUGH_F64(Tanh, std::tanh(x));
#undef TESSERA_THROUGH_F64

struct Pow {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(std::pow(static_cast<double>(a), static_cast<double>(b)));
  }
};

struct IsNan {
  template <class T>
  static bool apply(T a) {
    return a != a;
  }
};
struct IsInf {
  template <class T>
  static bool apply(T a) {
    return std::isinf(a);
  }
};
struct Eq {
  template <class T>
  static bool apply(T a, T b) {
    return a == b;
  }
};
struct Ne {
  template <class T>
  static bool apply(T a, T b) {
    return a != b;
  }
};
struct Lt {
  template <class T>
  static bool apply(T a, T b) {
    return a < b;
  }
};
struct Le {
  template <class T>
  static bool apply(T a, T b) {
    return a <= b;
  }
};
struct Gt {
  template <class T>
  static bool apply(T a, T b) {
    return a > b;
  }
};
struct Ge {
  template <class T>
  static bool apply(T a, T b) {
    return a >= b;
  }
};

// p + c rounded to odd. What two-sum leaves over is exact, so its sign tells where the true sum
// lies.
double odd_sum(double p, double c) {
  const double s = p + c;
  if (!std::isfinite(s)) return s;
  const double back = s - p;
  const double left = (p - (s - back)) + (c - back);
  const auto bits = std::bit_cast<std::uint64_t>(s);
  if (left == 0 || (bits & 1) != 0) return s;
  const bool outward = (left > 0) == (s > 0);
  return std::bit_cast<double>(outward ? bits + 1 : bits - 1);
}

template <class L>
void fused(std::uint64_t* __restrict__ out, const std::uint64_t* a, const std::uint64_t* b,
           const std::uint64_t* c, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto x = L::decode(a[i]), y = L::decode(b[i]), z = L::decode(c[i]);
    if constexpr (std::is_same_v<L, F16Lane> || std::is_same_v<L, BF16Lane>) {
      const double product = static_cast<double>(x) * static_cast<double>(y);  // exact
      out[i] = L::encode(odd_float(odd_sum(product, static_cast<double>(z))));
    } else {
      out[i] = L::encode(std::fma(x, y, z));
    }
  }
}

template <class L>
void negate(std::uint64_t* __restrict__ out, const std::uint64_t* a, const std::uint64_t*,
            const std::uint64_t*, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = a[i] ^ L::sign;
}
template <class L>
void magnitude(std::uint64_t* __restrict__ out, const std::uint64_t* a, const std::uint64_t*,
               const std::uint64_t*, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = a[i] & ~L::sign;
}

template <class L>
LaneFunction pick(Opcode code) noexcept {
  switch (code) {
    case Opcode::add:
      return &binary<L, L, Add>;
    case Opcode::sub:
      return &binary<L, L, Sub>;
    case Opcode::mul:
      return &binary<L, L, Mul>;
    case Opcode::div:
      return &binary<L, L, Div>;
    case Opcode::rem:
      return &binary<L, L, Rem>;
    case Opcode::mod:
      return &binary<L, L, Mod>;
    case Opcode::neg:
      return &negate<L>;
    case Opcode::abs:
      return &magnitude<L>;
    case Opcode::min:
      return &binary<L, L, Min>;
    case Opcode::max:
      return &binary<L, L, Max>;
    case Opcode::clamp:
      return &ternary<L, L, Clamp>;
    case Opcode::fma:
      return &fused<L>;
    case Opcode::floor:
      return &unary<L, L, Floor>;
    case Opcode::ceil:
      return &unary<L, L, Ceil>;
    case Opcode::trunc:
      return &unary<L, L, Trunc>;
    case Opcode::round:
      return &unary<L, L, Round>;
    case Opcode::sqrt:
      return &unary<L, L, Sqrt>;
    case Opcode::inverse_sqrt:
      return &unary<L, L, InverseSqrt>;
    case Opcode::exp:
      return &unary<L, L, Exp>;
    case Opcode::exp2:
      return &unary<L, L, Exp2>;
    case Opcode::log:
      return &unary<L, L, Log>;
    case Opcode::log2:
      return &unary<L, L, Log2>;
    case Opcode::sin:
      return &unary<L, L, Sin>;
    case Opcode::cos:
      return &unary<L, L, Cos>;
    case Opcode::tanh:
      return &unary<L, L, Tanh>;
    case Opcode::pow:
      return &binary<L, L, Pow>;
    case Opcode::is_nan:
      return &unary<L, BoolLane, IsNan>;
    case Opcode::is_inf:
      return &unary<L, BoolLane, IsInf>;
    case Opcode::eq:
      return &binary<L, BoolLane, Eq>;
    case Opcode::ne:
      return &binary<L, BoolLane, Ne>;
    case Opcode::lt:
      return &binary<L, BoolLane, Lt>;
    case Opcode::le:
      return &binary<L, BoolLane, Le>;
    case Opcode::gt:
      return &binary<L, BoolLane, Gt>;
    case Opcode::ge:
      return &binary<L, BoolLane, Ge>;
    default:
      return nullptr;
  }
}

}  // namespace

LaneFunction float_function(Opcode code, Elem elem) noexcept {
  switch (elem) {
    case Elem::f16:
      return pick<F16Lane>(code);
    case Elem::bf16:
      return pick<BF16Lane>(code);
    case Elem::f32:
      return pick<F32Lane>(code);
    case Elem::f64:
      return pick<F64Lane>(code);
    default:
      return nullptr;
  }
}

float odd_float(double value) noexcept {
  const float nearest = static_cast<float>(value);
  const double back = static_cast<double>(nearest);
  if (value != value || std::isinf(nearest) || back == value) return nearest;
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  if ((bits & 1) != 0) return nearest;
  return std::bit_cast<float>(std::fabs(back) < std::fabs(value) ? bits + 1 : bits - 1);
}

float odd_float(std::uint64_t magnitude, bool negative) noexcept {
  constexpr int significand = 24;
  const int extra = static_cast<int>(std::bit_width(magnitude)) - significand;
  float value;
  if (extra <= 0) {
    value = static_cast<float>(magnitude);
  } else {
    const std::uint64_t lost = magnitude & ((std::uint64_t{1} << extra) - 1);
    value = std::ldexp(static_cast<float>((magnitude >> extra) | (lost != 0 ? 1 : 0)), extra);
  }
  return negative ? -value : value;
}

}  // namespace tessera::ir::math
