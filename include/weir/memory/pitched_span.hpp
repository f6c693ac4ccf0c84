// SPDX-License-Identifier: Apache-2.0
// weir/memory/pitched_span.hpp - rows and slices of elements in memory, with padding between them.
#pragma once

#include <cstddef>
#include <type_traits>

namespace weir {

/// A borrowed box of elements: `width` elements per row, `height` rows per slice, `depth` slices.
/// Each row begins `pitch` bytes after the previous row, each slice `slice_rows` rows after the
/// previous slice. A part of a larger box can therefore be described by a pitched_span, too:
///
///   pitched_span<float> image{x.data(), width, height, pitch};
///   pitched_span<float> middle = image.part(100, 50, 640, 480);
///
/// Trivially copyable; pass by value. Valid while the memory is, like a std::span. The constructors
/// check nothing; the operation that uses the box checks its sizes.
template <class T>
class pitched_span {
 public:
  using element_type = T;

  /// A box of one slice; `pitch` is in bytes.
  constexpr pitched_span(T* data, std::size_t width, std::size_t height, std::size_t pitch) noexcept
      : pitched_span{data, width, height, pitch, 1, height} {}
  /// A box of `depth` slices; `pitch` is in bytes, `slice_rows` in rows.
  constexpr pitched_span(T* data, std::size_t width, std::size_t height, std::size_t pitch,
                         std::size_t depth, std::size_t slice_rows) noexcept
      : data_{data},
        width_{width},
        height_{height},
        depth_{depth},
        pitch_{pitch},
        slice_rows_{slice_rows} {}
  /// Converts to a box of const elements.
  constexpr operator pitched_span<const T>() const noexcept requires(!std::is_const_v<T>) {
    return {data_, width_, height_, pitch_, depth_, slice_rows_};
  }

  /// Returns the part of `width` by `height` elements that begins at column `x` of row `y`, in
  /// every slice.
  [[nodiscard]] pitched_span part(std::size_t x, std::size_t y, std::size_t width,
                                  std::size_t height) const noexcept {
    using byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
    return {reinterpret_cast<T*>(reinterpret_cast<byte*>(data_) + y * pitch_) + x,
            width,
            height,
            pitch_,
            depth_,
            slice_rows_};
  }

  /// Returns the address of the first element.
  [[nodiscard]] constexpr T* data() const noexcept { return data_; }
  /// Returns the number of elements per row.
  [[nodiscard]] constexpr std::size_t width() const noexcept { return width_; }
  /// Returns the number of rows per slice.
  [[nodiscard]] constexpr std::size_t height() const noexcept { return height_; }
  /// Returns the number of slices.
  [[nodiscard]] constexpr std::size_t depth() const noexcept { return depth_; }
  /// Returns the distance of rows in bytes.
  [[nodiscard]] constexpr std::size_t pitch() const noexcept { return pitch_; }
  /// Returns the distance of slices in rows.
  [[nodiscard]] constexpr std::size_t slice_rows() const noexcept { return slice_rows_; }

 private:
  T* data_;
  std::size_t width_;
  std::size_t height_;
  std::size_t depth_;
  std::size_t pitch_;
  std::size_t slice_rows_;
};

}  // namespace weir
