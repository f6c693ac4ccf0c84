// SPDX-License-Identifier: Apache-2.0
// weir/memory/buffer_part.hpp - consecutive elements of a buffer.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/tracked_memory.hpp>

#include <cstddef>
#include <span>
#include <type_traits>

namespace weir {
namespace detail {

/// Throws `invalid_value`, because elements `first` to `first + count` are not all among `size`
/// elements; `closed` if the memory is closed.
[[noreturn]] WEIR_EXPORT void throw_part_out_of_range(const tracked_memory& memory,
                                                      std::size_t first, std::size_t count,
                                                      std::size_t size, call_site at);

}  // namespace detail

/// Consecutive elements of a buffer, for operations that use only a part of it:
///
///   weir::fill(s, x.first(10), 0.0f);
///   weir::copy(s, x.part(100, n), host);
///
/// T is const for a part of a const buffer. A borrowed view, trivially copyable; pass by value.
/// Valid until the buffer ends, also if the buffer is moved. Every operation of weir takes a part
/// where it takes a buffer, and records its stream like that of the buffer.
///
/// Thread safety: as a pointer.
template <class T>
class buffer_part {
 public:
  using value_type = std::remove_cv_t<T>;

  /// Creates an empty part.
  buffer_part() noexcept = default;
  /// Used by buffers.
  buffer_part(T* data, std::size_t size, const detail::tracked_memory& memory) noexcept
      : data_{data}, size_{size}, memory_{&memory} {}
  /// Converts to a part with const elements.
  operator buffer_part<const T>() const noexcept requires(!std::is_const_v<T>) {
    return {data_, size_, tracked()};
  }
  /// Converts to a span. Operations find the buffer of a span by its address.
  operator std::span<T>() const noexcept { return {data_, size_}; }

  /// Returns the address of the first element.
  [[nodiscard]] T* data() const noexcept { return data_; }
  /// Returns the number of elements.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Returns the size in bytes.
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  /// Returns true if there are no elements.
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  /// Returns the part of `count` elements that begins at element number `first`, counted from 0.
  ///
  /// Throws: `invalid_value` if the elements are not all in this part; `closed` if the buffer is
  /// closed.
  [[nodiscard]] buffer_part part(std::size_t first, std::size_t count,
                                 call_site at = call_site::current()) const {
    if (first > size_ || count > size_ - first || tracked().closed()) [[unlikely]] {
      detail::throw_part_out_of_range(tracked(), first, count, size_, at);
    }
    return {data_ + first, count, tracked()};
  }
  /// Returns the first `count` elements.
  ///
  /// Throws: as part().
  [[nodiscard]] buffer_part first(std::size_t count, call_site at = call_site::current()) const {
    return part(0, count, at);
  }
  /// Returns the last `count` elements.
  ///
  /// Throws: as part().
  [[nodiscard]] buffer_part last(std::size_t count, call_site at = call_site::current()) const {
    return part(count <= size_ ? size_ - count : 0, count, at);
  }

  /// Returns the untyped memory. Used by weir's operations.
  [[nodiscard]] const detail::tracked_memory& tracked() const noexcept {
    return memory_ != nullptr ? *memory_ : detail::closed_memory();
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
  const detail::tracked_memory* memory_ = nullptr;
};

}  // namespace weir

template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<weir::buffer_part<T>> = true;
