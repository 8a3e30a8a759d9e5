// SPDX-License-Identifier: MIT OR Apache-2.0
// Control flow of the device as blocks of C++.
//
// TESSERA_IF (c) { … } is a for statement whose scope object opens a region of the kernel, lets the
// body run once on the host (which records it) and closes the region. A body that is left by C++
// break, return or goto is noticed by the scope's destructor and is an error of the trace: the
// device's are TESSERA_BREAK and TESSERA_RETURN. Braces are required around nested ifs.
#pragma once

#include <exception>
#include <utility>

#include "tessera/lang/expr.hpp"
#include "tessera/lang/scalar.hpp"

namespace tessera::inline v0::detail {

class Scope {
 public:
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 protected:
  explicit Scope(SourceLoc where) noexcept
      : where_(where), exceptions_(std::uncaught_exceptions()) {}
  ~Scope() {
    if (state_ != State::open) return;
    if (std::uncaught_exceptions() == exceptions_) {
      trace_error("C++ break, return or goto left a device block; use $break or $return", where_);
    }
    close_region(where_);
  }
  enum class State { fresh, open, closed };
  void opened() noexcept { state_ = State::open; }

 public:
  /// Reached where the body fell off its end.
  void leave() noexcept {
    close_region(where_);
    state_ = State::closed;
  }

 protected:
  SourceLoc where_;
  State state_ = State::fresh;

 private:
  int exceptions_;
};

template <class C>
ValueRef condition(const C& c) {
  if constexpr (Device<C>) {
    static_assert(std::is_same_v<element_of<C>, bool>,
                  "tessera: the condition is a device value but no bool");
    return c.value_ref();
  } else {
    static_assert(std::is_same_v<C, bool> || std::is_same_v<C, Const<bool>>,
                  "tessera: the condition is neither a bool of the device nor one of the host");
    return constant(Elem::boolean, static_cast<bool>(c) ? 1 : 0, {});
  }
}

class IfScope : public Scope {
 public:
  template <class C>
  explicit IfScope(const C& c, SourceLoc where = SourceLoc::current())
      : Scope(where), condition_(condition(c)) {}
  bool enter() noexcept {
    if (state_ != State::fresh) return false;
    open_if(condition_, where_);
    opened();
    return true;
  }

 private:
  ValueRef condition_;
};

class ElseScope : public Scope {
 public:
  explicit ElseScope(bool chained, SourceLoc where = SourceLoc::current()) noexcept
      : Scope(where), chained_(chained) {}
  bool enter() noexcept {
    if (state_ != State::fresh) return false;
    reopen_else(chained_, where_);
    opened();
    return true;
  }

 private:
  bool chained_;
};

/// The condition is a closure: it is recorded inside the loop, to be computed in every round.
template <class F>
class WhileScope : public Scope {
 public:
  explicit WhileScope(F f, SourceLoc where = SourceLoc::current())
      : Scope(where), condition_(std::move(f)) {}
  bool enter() {
    if (state_ != State::fresh) return false;
    open_loop(where_);
    opened();
    emit(Opcode::break_unless, {}, {condition(condition_())}, 0, where_);
    return true;
  }

 private:
  F condition_;
};

inline void jump(Opcode code, SourceLoc where = SourceLoc::current()) {
  emit(code, {}, {}, 0, where);
}

}  // namespace tessera::inline v0::detail

// Every scope object has a name of its own, so that nested blocks on one line shadow nothing.
#define TESSERA_JOIN2(a, b) a##b
#define TESSERA_JOIN(a, b) TESSERA_JOIN2(a, b)
#define TESSERA_NEW_SCOPE TESSERA_JOIN(tessera_scope_, __COUNTER__)

#define TESSERA_IF_AS(name, ...) \
  for (::tessera::detail::IfScope name{__VA_ARGS__}; name.enter(); name.leave())
#define TESSERA_ELSE_AS(name, chained) \
  for (::tessera::detail::ElseScope name{chained}; name.enter(); name.leave())
#define TESSERA_WHILE_AS(name, ...)                                  \
  for (::tessera::detail::WhileScope name{                           \
           [&] { return ::tessera::detail::as_bool(__VA_ARGS__); }}; \
       name.enter(); name.leave())

#define TESSERA_IF(...) TESSERA_IF_AS(TESSERA_NEW_SCOPE, __VA_ARGS__)
#define TESSERA_ELSE TESSERA_ELSE_AS(TESSERA_NEW_SCOPE, false)
#define TESSERA_ELIF(...) TESSERA_ELSE_AS(TESSERA_NEW_SCOPE, true) TESSERA_IF(__VA_ARGS__)
#define TESSERA_WHILE(...) TESSERA_WHILE_AS(TESSERA_NEW_SCOPE, __VA_ARGS__)
#define TESSERA_BREAK ::tessera::detail::jump(::tessera::detail::Opcode::break_)
#define TESSERA_RETURN ::tessera::detail::jump(::tessera::detail::Opcode::return_)

namespace tessera::inline v0::detail {

template <class C>
auto as_bool(const C& c) {
  if constexpr (Device<C>) {
    static_assert(std::is_same_v<element_of<C>, bool>,
                  "tessera: the condition is a device value but no bool");
    return Expr<bool>(c.value_ref());
  } else {
    static_assert(Device<C>, "tessera: the condition of a device loop is a bool of the device");
    return false;
  }
}

}  // namespace tessera::inline v0::detail
