// SPDX-License-Identifier: Apache-2.0
// weir/memory/fill.hpp - memory set to one value, in stream order.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/detail/direct_call.hpp>
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

/// Calls the driver directly (direct_call.hpp) if the stream's use of the memory need not be
/// recorded; returns `not_called` otherwise. `owner` is region::owner. The first four parameters
/// have the order of the parameters of the driver call, so that they stay in their registers.
WEIR_EXPORT direct_status fill_directly(void* address, std::uint32_t bits, std::size_t bytes,
                                        CUstream_st* stream, const tracked_memory* owner,
                                        std::size_t element_bytes);
/// Completes a fill for which fill_directly() returned `answer`, which is not success: throws its
/// error or, if it is `not_called`, records the use and calls the driver.
WEIR_EXPORT void fill_slow(stream_ref stream, const region& target, std::uint32_t bits,
                           std::size_t element_bytes, direct_status answer, call_site at);

/// Returns the bytes of the value as an unsigned number.
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

/// Queues setting every element of `target` to `value`, and returns without waiting.
///
/// `target` is memory that the stream's device can access: a buffer, a pinned_buffer, or a
/// std::span of such memory. Its elements are trivially copyable and have 1, 2 or 4 bytes, the
/// sizes that the driver supports. Zero elements queue nothing. The memory must live until the fill
/// is done. Outside a capture, a buffer ensures that itself: it is freed only after the fill. So
/// does the buffer of a part or a std::span.
///
/// In a capture: allowed; adds a memset node. The memory must live until no launch of the graph
/// uses it. A buffer's free waits for the launches that were queued before it; graph_ref::keep()
/// gives an owner to the graph.
/// In a host function: throws `not_permitted`.
/// Driver: cuMemsetD8Async, cuMemsetD16Async, cuMemsetD32Async.
template <class Target>
requires detail::memory_range<std::remove_reference_t<Target>>
void fill(stream_ref stream, Target&& target,
          const std::type_identity_t<detail::element_of<Target>>& value,
          call_site at = call_site::current()) {
  using element = detail::element_of<Target>;
  static_assert(!std::is_const_v<element> && std::is_trivially_copyable_v<element>);
  static_assert(sizeof(element) == 1 || sizeof(element) == 2 || sizeof(element) == 4,
                "a device sets values of 1, 2 or 4 bytes");
  static_assert(detail::outlives_call<Target>,
                "the fill runs later: a temporary would be gone by then");
  const detail::region memory = detail::region_of(target);
  const std::uint32_t bits = detail::bits_of(value);
  const detail::direct_status answer = detail::fill_directly(
      memory.address, bits, memory.bytes, stream.get(), memory.owner, sizeof(element));
  if (answer != detail::direct_status::success) [[unlikely]] {
    detail::fill_slow(stream, memory, bits, sizeof(element), answer, at);
  }
}

/// Queues setting `count` elements at a raw address to `value`, like fill() of a span.
template <class T>
void fill(stream_ref stream, T* target, std::size_t count, const std::type_identity_t<T>& value,
          call_site at = call_site::current()) {
  fill(stream, std::span<T>{target, count}, value, at);
}

}  // namespace weir
