// SPDX-License-Identifier: MIT OR Apache-2.0
// A buffer with a shape.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "tessera/buffer.hpp"

namespace tessera::inline v0 {

/// Extents or strides of up to eight axes, in elements; the last axis is the fastest by default.
class Shape {
 public:
  static constexpr int max_rank = 8;
  Shape() noexcept = default;
  Shape(std::initializer_list<std::uint64_t> extents) {
    for (std::uint64_t e : extents) {
      if (rank_ < max_rank) extents_[rank_++] = e;
    }
  }
  int rank() const noexcept { return rank_; }
  std::uint64_t operator[](int axis) const noexcept { return extents_[axis]; }
  std::uint64_t& operator[](int axis) noexcept { return extents_[axis]; }
  void append(std::uint64_t extent) {
    if (rank_ < max_rank) extents_[rank_++] = extent;
  }
  /// Number of elements; 1 for rank 0.
  std::uint64_t count() const noexcept {
    std::uint64_t n = 1;
    for (int i = 0; i < rank_; ++i) n *= extents_[i];
    return n;
  }
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<std::uint64_t, max_rank> extents_{};
  int rank_ = 0;
};

/// Strides of a tensor whose elements lie without gaps, last axis fastest.
inline Shape row_major(const Shape& shape) {
  Shape strides = shape;
  std::uint64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

/// A view: buffer, shape, strides. Copying shares the memory. Thread-safety as Buffer.
template <Element T>
class Tensor {
 public:
  using value_type = T;

  Tensor() noexcept = default;
  /// `buffer` has shape.count() elements, else every use is InvalidArgument.
  Tensor(Buffer<T> buffer, Shape shape)
      : buffer_(std::move(buffer)), shape_(shape), strides_(row_major(shape)) {}
  Tensor(Buffer<T> buffer, Shape shape, Shape strides)
      : buffer_(std::move(buffer)), shape_(shape), strides_(strides) {}

  const Shape& shape() const noexcept { return shape_; }
  const Shape& strides() const noexcept { return strides_; }
  const Buffer<T>& buffer() const noexcept { return buffer_; }
  /// Elements lie without gaps in row-major order.
  bool contiguous() const noexcept { return strides_ == row_major(shape_); }

  /// Axes a and b exchanged. No bytes move.
  Tensor transpose(int a, int b) const {
    Tensor view = *this;
    if (a < 0 || b < 0 || a >= shape_.rank() || b >= shape_.rank()) return view;
    std::swap(view.shape_[a], view.shape_[b]);
    std::swap(view.strides_[a], view.strides_[b]);
    return view;
  }

  /// The same elements in another shape; InvalidArgument where counts differ or the view has gaps.
  Result<Tensor> reshape(Shape shape) const {
    if (!contiguous() || shape.count() != shape_.count()) {
      return Error(ErrorKind::InvalidArgument,
                   "A tensor can be reshaped to a shape of as many elements, and only where its "
                   "elements lie without gaps.");
    }
    return Tensor(buffer_, shape);
  }

  /// Starts reading back the elements in memory order.
  Pending<std::vector<T>> download(SourceLoc where = SourceLoc::current()) const {
    return buffer_.download(where);
  }
  Result<std::vector<T>> to_vector(SourceLoc where = SourceLoc::current()) const {
    return buffer_.to_vector(where);
  }

 private:
  Buffer<T> buffer_;
  Shape shape_;
  Shape strides_;
};

}  // namespace tessera::inline v0
