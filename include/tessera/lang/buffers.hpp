// SPDX-License-Identifier: MIT OR Apache-2.0
// Buffer parameters of kernels.
#pragma once

#include "tessera/lang/element_ref.hpp"

namespace tessera::inline v0 {

namespace detail {

/// What every buffer parameter has: a binding and a length.
class BufferParam {
 public:
  explicit BufferParam(std::uint32_t binding) : memory_{false, binding} {}

  /// Elements of the buffer that was passed.
  Expr<Index> len(SourceLoc where = SourceLoc::current()) const {
    return Expr<Index>(emit(Opcode::length, elem_type_v<Index>, {}, memory_.index, where));
  }

 protected:
  MemoryRef memory_;
};

}  // namespace detail

/// A buffer that the kernel reads. a[i] is checked: outside it is a fault of the launch.
template <class T>
class In : public detail::BufferParam {
 public:
  using BufferParam::BufferParam;
  Expr<T> operator[](const detail::IndexArg& i) const {
    return detail::load<T>(detail::place(memory_, i));
  }
  /// a[i] where i is inside, else `value`; never a fault.
  template <detail::Operand V>
  Expr<T> load_or(const detail::IndexArg& i, const V& value) const {
    return detail::load_or<T>(detail::place(memory_, i), value);
  }
};

/// A buffer that the kernel writes.
template <class T>
class Out : public detail::BufferParam {
 public:
  using BufferParam::BufferParam;
  detail::OutRef<T> operator[](const detail::IndexArg& i) const {
    return detail::OutRef<T>(detail::place(memory_, i));
  }
};

/// A buffer that the kernel reads and writes.
template <class T>
class InOut : public detail::BufferParam {
 public:
  using BufferParam::BufferParam;
  detail::Ref<T> operator[](const detail::IndexArg& i) const {
    return detail::Ref<T>(detail::place(memory_, i));
  }
  template <detail::Operand V>
  Expr<T> load_or(const detail::IndexArg& i, const V& value) const {
    return detail::load_or<T>(detail::place(memory_, i), value);
  }
};

/// A buffer whose elements the units share: atomic operations only.
template <class T>
class InOut<Atomic<T>> : public detail::BufferParam {
 public:
  using BufferParam::BufferParam;
  detail::AtomicRef<T> operator[](const detail::IndexArg& i) const {
    return detail::AtomicRef<T>(detail::place(memory_, i));
  }
};

}  // namespace tessera::inline v0
