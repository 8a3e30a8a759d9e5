// SPDX-License-Identifier: MIT OR Apache-2.0
// Loops of the device: for (auto i : range(begin, end, step)) { … }
#pragma once

#include <exception>

#include "tessera/lang/operators.hpp"

namespace tessera::inline v0 {

namespace detail {

/// The host runs the body once, between begin() and ++. The number of rounds is fixed at entry.
template <class T>
class Range {
 public:
  Range(ValueRef begin, ValueRef end, ValueRef step, SourceLoc where)
      : begin_(begin),
        end_(end),
        step_(step),
        where_(where),
        exceptions_(std::uncaught_exceptions()) {}
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range() {
    if (!open_) return;
    if (std::uncaught_exceptions() == exceptions_) {
      trace_error("C++ break, return or goto left a device loop; use $break or $return", where_);
    }
    close_region(where_);
  }

  struct Sentinel {};
  class Iterator {
   public:
    explicit Iterator(Range& range) : range_(range) {}
    bool operator!=(Sentinel) const { return range_.open_; }
    Expr<T> operator*() const { return Expr<T>(range_.induction_); }
    void operator++() {
      close_region(range_.where_);
      range_.open_ = false;
    }

   private:
    Range& range_;
  };
  Iterator begin() {
    induction_ = open_for(begin_, end_, step_, where_);
    open_ = true;
    return Iterator(*this);
  }
  Sentinel end() const { return {}; }

 private:
  ValueRef begin_, end_, step_, induction_;
  SourceLoc where_;
  int exceptions_;
  bool open_ = false;
};

template <class A, class B>
struct RangeMeet {
  using type = common_of<A, B>;
};
template <Host A, Host B>
struct RangeMeet<A, B> {
  using type = Index;
};

// The element type of a range: where the bounds of the device meet; Index where none is of it.
template <class A, class B, class C>
struct RangeElement {
  using AB = typename RangeMeet<A, B>::type;
  using type = typename RangeMeet<std::conditional_t<Host<A> && Host<B>, A, Expr<AB>>, C>::type;
};

}  // namespace detail

/// i = begin, begin + step, … while i < end; for signed numbers a constant negative step counts
/// down while i > end. Operands meet as those of operators; all of the host: Index.
template <detail::Operand A, detail::Operand B, detail::Operand C = int>
auto range(const A& begin, const B& end, const C& step = C(1),
           SourceLoc where = SourceLoc::current()) {
  using T = typename detail::RangeElement<A, B, C>::type;
  static_assert(!std::is_void_v<T>, "tessera: different element types; insert cast<T>(value)");
  static_assert(detail::is_int_v<T> && detail::lanes_of<T> == 1,
                "tessera: the bounds of range() are integers");
  const detail::ValueRef b = detail::to_value<T>(begin, where);
  const detail::ValueRef e = detail::to_value<T>(end, where);
  const detail::ValueRef s = detail::to_value<T>(step, where);
  return detail::Range<T>(b, e, s, where);
}
template <detail::Operand B>
auto range(const B& end, SourceLoc where = SourceLoc::current()) {
  return range(0, end, 1, where);
}

}  // namespace tessera::inline v0
