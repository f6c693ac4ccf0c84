// weir/memory/pitched_span.hpp - rows of elements in memory, with room between them.
#pragma once

#include <cstddef>
#include <type_traits>

namespace weir {

// A box of elements: `width` in a row, `height` rows, `depth` slices. A row begins `pitch` bytes
// after the one before, a slice `slice_rows` rows after the one before, so that a part of a larger
// box is one, too:
//
//   pitched_span<float> image{x.data(), width, height, pitch};
//   pitched_span<float> middle = image.part(100, 50, 640, 480);
//
// Borrowed memory, as a std::span's. Trivially copyable; pass by value. Nothing is checked before
// it is used.
template <class T>
class pitched_span {
 public:
  using element_type = T;

  constexpr pitched_span(T* data, std::size_t width, std::size_t height, std::size_t pitch) noexcept
      : pitched_span{data, width, height, pitch, 1, height} {}
  constexpr pitched_span(T* data, std::size_t width, std::size_t height, std::size_t pitch,
                         std::size_t depth, std::size_t slice_rows) noexcept
      : data_{data},
        width_{width},
        height_{height},
        depth_{depth},
        pitch_{pitch},
        slice_rows_{slice_rows} {}
  constexpr operator pitched_span<const T>() const noexcept requires(!std::is_const_v<T>) {
    return {data_, width_, height_, pitch_, depth_, slice_rows_};
  }

  // From column x of row y on; of every slice.
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

  [[nodiscard]] constexpr T* data() const noexcept { return data_; }
  [[nodiscard]] constexpr std::size_t width() const noexcept { return width_; }
  [[nodiscard]] constexpr std::size_t height() const noexcept { return height_; }
  [[nodiscard]] constexpr std::size_t depth() const noexcept { return depth_; }
  [[nodiscard]] constexpr std::size_t pitch() const noexcept { return pitch_; }
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
