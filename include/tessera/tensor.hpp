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

/// Strides of a tensor whose rows start at multiples of a pitch: the bytes of a row rounded up to
/// the next power of two, at least 16 and at most `alignment`. Rank 0 and 1, and rows of one
/// element, have nothing to pad. Elements of a size that does not divide the pitch lie without
/// gaps.
inline Shape pitched(const Shape& shape, std::uint64_t element_bytes, std::uint64_t alignment) {
  const int rank = shape.rank();
  if (rank < 2 || shape[rank - 1] <= 1) return row_major(shape);
  const std::uint64_t row = shape[rank - 1] * element_bytes;
  std::uint64_t unit = 16;
  while (unit < row && unit < alignment) unit *= 2;
  if (unit % element_bytes != 0) return row_major(shape);
  Shape strides = shape;
  strides[rank - 1] = 1;
  std::uint64_t step = (row + unit - 1) / unit * unit / element_bytes;
  for (int i = rank - 2; i >= 0; --i) {
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

  /// Starts reading back the elements in row-major order of the shape. The strides are those of a
  /// contiguous or pitched tensor, else InvalidArgument; pitched ones need a device that copies
  /// rows, else Unsupported.
  Pending<std::vector<T>> download(SourceLoc where = SourceLoc::current()) const {
    if (contiguous()) return buffer_.download(where);
    return Pending<std::vector<T>>(detail::download_rows(buffer_.ref(), rows(), where));
  }
  Result<std::vector<T>> to_vector(SourceLoc where = SourceLoc::current()) const {
    return download(where).get();
  }
  /// Overwrites all elements, given in row-major order; copied before the call returns. Errors as
  /// download(), recorded; a count other than shape().count() is InvalidArgument.
  const Tensor& write(std::span<const T> values, SourceLoc where = SourceLoc::current()) const {
    if (contiguous()) {
      detail::write_exactly(buffer_.ref(), std::as_bytes(values), where);
    } else {
      detail::write_rows(buffer_.ref(), rows(), std::as_bytes(values), where);
    }
    return *this;
  }

 private:
  // No rows where the strides are neither contiguous nor those of padded rows.
  detail::Rows rows() const noexcept {
    const int rank = shape_.rank();
    if (rank < 2 || strides_[rank - 1] != 1 || strides_[rank - 2] < shape_[rank - 1]) return {};
    std::uint64_t step = strides_[rank - 2], count = 1;
    for (int i = rank - 2; i >= 0; --i) {
      if (strides_[i] != step) return {};
      step *= shape_[i];
      count *= shape_[i];
    }
    return {shape_[rank - 1] * sizeof(T), strides_[rank - 2] * sizeof(T), count};
  }

  Buffer<T> buffer_;
  Shape shape_;
  Shape strides_;
};

}  // namespace tessera::inline v0
