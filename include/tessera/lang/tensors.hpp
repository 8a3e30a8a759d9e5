// SPDX-License-Identifier: MIT OR Apache-2.0
// Tensor parameters: buffers with shape and strides, indexed a(row, column, …). The number of axes
// is that of the tensor passed; every rank is a kernel of its own.
#pragma once

#include "tessera/lang/element_ref.hpp"

namespace tessera::inline v0 {

namespace detail {

class TensorParam {
 public:
  TensorParam(std::uint32_t binding, int rank) : memory_{false, binding}, rank_(rank) {}

  /// Axes; a number of the host, known while tracing.
  int rank() const noexcept { return rank_; }
  Expr<Index> shape(int axis, SourceLoc where = SourceLoc::current()) const {
    return metadata(Opcode::shape, axis, where);
  }
  /// In elements.
  Expr<Index> stride(int axis, SourceLoc where = SourceLoc::current()) const {
    return metadata(Opcode::stride, axis, where);
  }
  /// Elements of the buffer behind the tensor.
  Expr<Index> len(SourceLoc where = SourceLoc::current()) const {
    return Expr<Index>(emit(Opcode::length, elem_type_v<Index>, {}, memory_.index, where));
  }

 protected:
  Place at(std::initializer_list<IndexArg> coordinates) const {
    Place p;
    p.memory = memory_;
    p.where = coordinates.begin()->where;
    if (static_cast<int>(coordinates.size()) != rank_) {
      trace_error("a tensor is indexed with another number of coordinates than it has axes",
                  p.where);
    }
    p.rank = rank_;
    const IndexArg* c = coordinates.begin();
    for (int i = 0; i < rank_; ++i) {
      p.at[static_cast<std::size_t>(i)] =
          i < static_cast<int>(coordinates.size()) ? c[i].ref : c[0].ref;
    }
    return p;
  }

 private:
  Expr<Index> metadata(Opcode code, int axis, SourceLoc where) const {
    if (axis < 0 || axis >= rank_) {
      trace_error("the axis is not one of the tensor's", where);
      axis = 0;
    }
    return Expr<Index>(emit(code, elem_type_v<Index>, {},
                            memory_.index | (static_cast<std::uint64_t>(axis) << 32), where));
  }
  MemoryRef memory_;
  int rank_;
};

// One body for one to four coordinates: `result(place)`.
#define TESSERA_COORDINATES(type, name, result)                                              \
  type name(const detail::IndexArg& a) const {                                               \
    return result(at({a}));                                                                  \
  }                                                                                          \
  type name(const detail::IndexArg& a, const detail::IndexArg& b) const {                    \
    return result(at({a, b}));                                                               \
  }                                                                                          \
  type name(const detail::IndexArg& a, const detail::IndexArg& b, const detail::IndexArg& c) \
      const {                                                                                \
    return result(at({a, b, c}));                                                            \
  }                                                                                          \
  type name(const detail::IndexArg& a, const detail::IndexArg& b, const detail::IndexArg& c, \
            const detail::IndexArg& d) const {                                               \
    return result(at({a, b, c, d}));                                                         \
  }

// load_or(coordinates …, value).
#define TESSERA_LOAD_OR                                                                            \
  template <detail::Operand V>                                                                     \
  Expr<T> load_or(const detail::IndexArg& a, const V& value) const {                               \
    return detail::load_or<T>(at({a}), value);                                                     \
  }                                                                                                \
  template <detail::Operand V>                                                                     \
  Expr<T> load_or(const detail::IndexArg& a, const detail::IndexArg& b, const V& value) const {    \
    return detail::load_or<T>(at({a, b}), value);                                                  \
  }                                                                                                \
  template <detail::Operand V>                                                                     \
  Expr<T> load_or(const detail::IndexArg& a, const detail::IndexArg& b, const detail::IndexArg& c, \
                  const V& value) const {                                                          \
    return detail::load_or<T>(at({a, b, c}), value);                                               \
  }                                                                                                \
  template <detail::Operand V>                                                                     \
  Expr<T> load_or(const detail::IndexArg& a, const detail::IndexArg& b, const detail::IndexArg& c, \
                  const detail::IndexArg& d, const V& value) const {                               \
    return detail::load_or<T>(at({a, b, c, d}), value);                                            \
  }

}  // namespace detail

/// A tensor that the kernel reads.
template <class T>
class TensorIn : public detail::TensorParam {
 public:
  using TensorParam::TensorParam;
  TESSERA_COORDINATES(Expr<T>, operator(), detail::load<T>)
  TESSERA_LOAD_OR
};

/// A tensor that the kernel writes.
template <class T>
class TensorOut : public detail::TensorParam {
 public:
  using TensorParam::TensorParam;
  TESSERA_COORDINATES(detail::OutRef<T>, operator(), detail::OutRef<T>)
};

/// A tensor that the kernel reads and writes.
template <class T>
class TensorInOut : public detail::TensorParam {
 public:
  using TensorParam::TensorParam;
  TESSERA_COORDINATES(detail::Ref<T>, operator(), detail::Ref<T>)
  TESSERA_LOAD_OR
};

#undef TESSERA_COORDINATES
#undef TESSERA_LOAD_OR

}  // namespace tessera::inline v0
