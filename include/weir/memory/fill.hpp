// weir/memory/fill.hpp - memory set to one value, in stream order.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/detail/export.hpp>
#include <weir/memory/copy.hpp>
#include <weir/stream/stream.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace weir {
namespace detail {

// A direct call (direct_call.hpp), for memory of which nothing has to be remembered. What the
// driver takes stands first and in its order.
WEIR_EXPORT errc fill_directly(void* address, std::uint32_t bits, std::size_t bytes,
                               CUstream_st* stream, const tracked_memory* owner,
                               std::size_t element_bytes);
// After one that did not succeed: throws what it answered, or, if the driver was not asked, makes
// the whole call.
WEIR_EXPORT void fill_slow(stream_ref stream, const region& to, std::uint32_t bits,
                           std::size_t element_bytes, errc answer, call_site at);

template <class T>
[[nodiscard]] constexpr std::uint32_t bits_of(const T& value) noexcept {
  if constexpr (sizeof(T) == 1) {
    return std::bit_cast<std::uint8_t>(value);
  } else if constexpr (sizeof(T) == 2) {
    return std::bit_cast<std::uint16_t>(value);
  } else {
    return std::bit_cast<std::uint32_t>(value);
  }
}

}  // namespace detail

// Queues setting every element of `to` to `value`, and returns. `to` is memory that the device of
// the stream reaches: a buffer, a pinned_buffer, or a std::span of such memory. Its elements are
// trivially copyable and of 1, 2 or 4 bytes, which is what the driver sets. Zero elements queue
// nothing. In a capture: allowed, a memset node. In a host function: refused. cuMemsetD8Async,
// cuMemsetD16Async, cuMemsetD32Async.
template <class To>
requires detail::memory_range<std::remove_reference_t<To>>
void fill(stream_ref stream, To&& to, const std::type_identity_t<detail::element_of<To>>& value,
          call_site at = call_site::current()) {
  using element = detail::element_of<To>;
  static_assert(!std::is_const_v<element> && std::is_trivially_copyable_v<element>);
  static_assert(sizeof(element) == 1 || sizeof(element) == 2 || sizeof(element) == 4,
                "a device sets values of 1, 2 or 4 bytes");
  static_assert(detail::outlives_call<To>,
                "the fill runs later: a temporary would be gone by then");
  const detail::region target = detail::region_of(to);
  const std::uint32_t bits = detail::bits_of(value);
  const errc answer = detail::fill_directly(target.address, bits, target.bytes, stream.get(),
                                            target.owner, sizeof(element));
  if (answer != errc::success) [[unlikely]] {
    detail::fill_slow(stream, target, bits, sizeof(element), answer, at);
  }
}

// The same for a raw address of `count` elements.
template <class T>
void fill(stream_ref stream, T* to, std::size_t count, const std::type_identity_t<T>& value,
          call_site at = call_site::current()) {
  fill(stream, std::span<T>{to, count}, value, at);
}

}  // namespace weir
