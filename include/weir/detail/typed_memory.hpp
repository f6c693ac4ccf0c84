// SPDX-License-Identifier: Apache-2.0
// weir/detail/typed_memory.hpp - memory as elements of a type: the common part of all buffers.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/owned_memory.hpp>
#include <weir/memory/buffer_part.hpp>
#include <weir/stream/stream.hpp>

#include <cstddef>
#include <type_traits>

namespace weir::detail {

/// The elements of a buffer. `Memory` derives from owned_memory and frees the memory. Buffers
/// derive from this class and add how they are created and destroyed.
template <class T, class Memory>
class typed_memory {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                "a buffer holds plain values");

 public:
  using value_type = T;

  /// Returns true if the buffer was closed, released or moved from.
  [[nodiscard]] bool closed() const noexcept { return memory_.closed(); }

  /// Tells weir that work in the stream uses this memory, for work that was not queued through
  /// weir, and for kernels that get the address in a struct. Call it after each such work was
  /// queued. For a stream that weir owns, one call covers all later work, too.
  void used_on(stream_ref stream, call_site at = call_site::current()) const {
    if (tracked().register_use(stream, at)) tracked().record_use(stream, at);
  }

  /// Returns the address in this process. Device memory can be accessed by kernels only, not by the
  /// host.
  [[nodiscard]] T* data() noexcept { return static_cast<T*>(memory_.address()); }
  [[nodiscard]] const T* data() const noexcept { return static_cast<const T*>(memory_.address()); }
  /// Returns the number of elements.
  [[nodiscard]] std::size_t size() const noexcept { return memory_.bytes() / sizeof(T); }
  /// Returns the size in bytes.
  [[nodiscard]] std::size_t size_bytes() const noexcept { return memory_.bytes(); }
  /// Returns true if there are no elements.
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

  /// Returns the part of `count` elements that begins at element number `first`, counted from 0.
  /// weir's operations take a part where they take a buffer.
  ///
  /// Throws: `invalid_value` if the elements are not all in the buffer; `closed`.
  [[nodiscard]] buffer_part<T> part(std::size_t first, std::size_t count,
                                    call_site at = call_site::current()) {
    return buffer_part<T>{data(), size(), tracked()}.part(first, count, at);
  }
  /// Returns the part of `count` elements that begins at element number `first`, counted from 0.
  [[nodiscard]] buffer_part<const T> part(std::size_t first, std::size_t count,
                                          call_site at = call_site::current()) const {
    return buffer_part<const T>{data(), size(), tracked()}.part(first, count, at);
  }
  /// Returns the first `count` elements.
  ///
  /// Throws: as part().
  [[nodiscard]] buffer_part<T> first(std::size_t count, call_site at = call_site::current()) {
    return part(0, count, at);
  }
  /// Returns the first `count` elements.
  [[nodiscard]] buffer_part<const T> first(std::size_t count,
                                           call_site at = call_site::current()) const {
    return part(0, count, at);
  }
  /// Returns the last `count` elements.
  ///
  /// Throws: as part().
  [[nodiscard]] buffer_part<T> last(std::size_t count, call_site at = call_site::current()) {
    return buffer_part<T>{data(), size(), tracked()}.last(count, at);
  }
  /// Returns the last `count` elements.
  [[nodiscard]] buffer_part<const T> last(std::size_t count,
                                          call_site at = call_site::current()) const {
    return buffer_part<const T>{data(), size(), tracked()}.last(count, at);
  }

  /// Returns the untyped memory. Used by weir's operations.
  [[nodiscard]] const tracked_memory& tracked() const noexcept { return memory_.tracked(); }

 protected:
  template <class... From>
  explicit typed_memory(From&&... from) : memory_{static_cast<From&&>(from)...} {}
  typed_memory(typed_memory&&) noexcept = default;
  typed_memory& operator=(typed_memory&&) noexcept = default;
  ~typed_memory() = default;

  Memory memory_;
};

/// Like typed_memory, for memory that the host can access like an array. Access it only when the
/// work that uses it has finished.
template <class T, class Memory>
class host_array : public typed_memory<T, Memory> {
 public:
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return this->data()[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return this->data()[i]; }
  [[nodiscard]] T* begin() noexcept { return this->data(); }
  [[nodiscard]] T* end() noexcept { return this->data() + this->size(); }
  [[nodiscard]] const T* begin() const noexcept { return this->data(); }
  [[nodiscard]] const T* end() const noexcept { return this->data() + this->size(); }

 protected:
  using typed_memory<T, Memory>::typed_memory;
};

}  // namespace weir::detail
