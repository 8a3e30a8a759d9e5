// SPDX-License-Identifier: MIT OR Apache-2.0
// Integer operations: wrapping, total, one definition for every width.
#include <bit>
#include <limits>

#include "ir/scalar_math_lanes.hpp"

namespace tessera::ir::math {
namespace {

// Wide enough that promotion never turns a wrap into a signed overflow.
template <class T>
using Wrap = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;
template <class T>
using Bits = std::make_unsigned_t<T>;
template <class T>
inline constexpr int width = static_cast<int>(sizeof(T) * 8);

struct Add {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(Wrap<T>(a) + Wrap<T>(b));
  }
};
struct Sub {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(Wrap<T>(a) - Wrap<T>(b));
  }
};
struct Mul {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(Wrap<T>(a) * Wrap<T>(b));
  }
};
struct Neg {
  template <class T>
  static T apply(T a) {
    return static_cast<T>(Wrap<T>(0) - Wrap<T>(a));
  }
};
struct Abs {
  template <class T>
  static T apply(T a) {
    return a < T(0) ? Neg::apply(a) : a;
  }
};

template <class T>
bool overflows(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    return b == T(-1) && a == std::numeric_limits<T>::min();
  } else {
    return false;
  }
}

struct Div {
  template <class T>
  static T apply(T a, T b) {
    if (b == 0 || overflows(a, b)) return a;
    return static_cast<T>(a / b);
  }
};
struct Rem {
  template <class T>
  static T apply(T a, T b) {
    if (b == 0 || overflows(a, b)) return 0;
    return static_cast<T>(a % b);
  }
};
struct Mod {
  template <class T>
  static T apply(T a, T b) {
    const T r = Rem::apply(a, b);
    if constexpr (std::is_signed_v<T>) {
      if (r != 0 && (r < 0) != (b < 0)) return static_cast<T>(r + b);
    }
    return r;
  }
};
struct Min {
  template <class T>
  static T apply(T a, T b) {
    return b < a ? b : a;
  }
};
struct Max {
  template <class T>
  static T apply(T a, T b) {
    return a < b ? b : a;
  }
};
struct Clamp {
  template <class T>
  static T apply(T x, T lo, T hi) {
    return Min::apply(Max::apply(x, lo), hi);
  }
};
struct MulHi {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (sizeof(T) == 8) {
      __extension__ using Wide =
          std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
      return static_cast<T>((Wide(a) * Wide(b)) >> 64);
    } else {
      using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
      return static_cast<T>((Wide(a) * Wide(b)) >> width<T>);
    }
  }
};

struct And {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct Not {
  template <class T>
  static T apply(T a) {
    return static_cast<T>(~a);
  }
};
struct Shl {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(Wrap<T>(a) << (Bits<T>(b) & (width<T> - 1)));
  }
};
struct Shr {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a >> (Bits<T>(b) & (width<T> - 1)));
  }
};
struct CountOnes {
  template <class T>
  static T apply(T a) {
    return static_cast<T>(std::popcount(Bits<T>(a)));
  }
};
struct LeadingZeros {
  template <class T>
  static T apply(T a) {
    return static_cast<T>(std::countl_zero(Bits<T>(a)));
  }
};
struct TrailingZeros {
  template <class T>
  static T apply(T a) {
    return static_cast<T>(std::countr_zero(Bits<T>(a)));
  }
};
struct ReverseBits {
  template <class T>
  static T apply(T a) {
    std::uint64_t bits = Bits<T>(a), out = 0;
    for (int i = 0; i < width<T>; ++i, bits >>= 1) out = (out << 1) | (bits & 1);
    return static_cast<T>(out);
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
      return &unary<L, L, Neg>;
    case Opcode::abs:
      return &unary<L, L, Abs>;
    case Opcode::min:
      return &binary<L, L, Min>;
    case Opcode::max:
      return &binary<L, L, Max>;
    case Opcode::clamp:
      return &ternary<L, L, Clamp>;
    case Opcode::mul_hi:
      return &binary<L, L, MulHi>;
    case Opcode::bit_and:
      return &binary<L, L, And>;
    case Opcode::bit_or:
      return &binary<L, L, Or>;
    case Opcode::bit_xor:
      return &binary<L, L, Xor>;
    case Opcode::bit_not:
      return &unary<L, L, Not>;
    case Opcode::shl:
      return &binary<L, L, Shl>;
    case Opcode::shr:
      return &binary<L, L, Shr>;
    case Opcode::count_ones:
      return &unary<L, L, CountOnes>;
    case Opcode::leading_zeros:
      return &unary<L, L, LeadingZeros>;
    case Opcode::trailing_zeros:
      return &unary<L, L, TrailingZeros>;
    case Opcode::reverse_bits:
      return &unary<L, L, ReverseBits>;
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

struct BoolNot {
  static bool apply(bool a) { return !a; }
};

LaneFunction pick_bool(Opcode code) noexcept {
  using L = BoolLane;
  switch (code) {
    case Opcode::bit_and:
      return &binary<L, L, And>;
    case Opcode::bit_or:
      return &binary<L, L, Or>;
    case Opcode::bit_xor:
      return &binary<L, L, Xor>;
    case Opcode::bit_not:
      return &unary<L, L, BoolNot>;
    case Opcode::eq:
      return &binary<L, L, Eq>;
    case Opcode::ne:
      return &binary<L, L, Ne>;
    default:
      return nullptr;
  }
}

}  // namespace

LaneFunction int_function(Opcode code, Elem elem, bool wide_index) noexcept {
  switch (elem) {
    case Elem::boolean:
      return pick_bool(code);
    case Elem::i8:
      return pick<IntLane<std::int8_t>>(code);
    case Elem::i16:
      return pick<IntLane<std::int16_t>>(code);
    case Elem::i32:
      return pick<IntLane<std::int32_t>>(code);
    case Elem::i64:
      return pick<IntLane<std::int64_t>>(code);
    case Elem::u8:
      return pick<IntLane<std::uint8_t>>(code);
    case Elem::u16:
      return pick<IntLane<std::uint16_t>>(code);
    case Elem::u32:
      return pick<IntLane<std::uint32_t>>(code);
    case Elem::u64:
      return pick<IntLane<std::uint64_t>>(code);
    case Elem::index:
      return wide_index ? pick<IntLane<std::uint64_t>>(code) : pick<IntLane<std::uint32_t>>(code);
    default:
      return nullptr;
  }
}

}  // namespace tessera::ir::math
