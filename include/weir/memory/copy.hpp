// weir/memory/copy.hpp - copies between any two memories, in stream order.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/tracked_memory.hpp>
#include <weir/stream/stream.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

namespace weir {
namespace detail {

// One side of an operation: an address, what is there, and who wants to know.
struct region {
  void* address;
  std::size_t bytes;
  const tracked_memory* owner;  // null for memory that weir does not own
};

WEIR_EXPORT void copy_region(stream_ref stream, const region& from, const region& to, call_site at);

template <class R>
concept tracked_range = requires(const R& r) {
  { r.tracked() } -> std::same_as<const tracked_memory&>;
};

// What has data() and size(): buffers, spans, vectors, arrays.
template <class R>
concept memory_range = requires(R& r) {
  { *r.data() } -> std::convertible_to<const volatile std::remove_cvref_t<decltype(*r.data())>&>;
  { r.size() } -> std::convertible_to<std::size_t>;
};

template <class R>
using element_of = std::remove_reference_t<decltype(*std::declval<R&>().data())>;

// Work that is queued reads and writes later, so the memory must not go with the expression that
// names it.
template <class R>
concept outlives_call =
    std::is_lvalue_reference_v<R> || std::ranges::enable_borrowed_range<std::remove_cvref_t<R>>;

template <class R>
[[nodiscard]] constexpr region region_of(R& r) noexcept {
  using element = std::remove_cv_t<element_of<R>>;
  if constexpr (tracked_range<R>) {
    return region{const_cast<element*>(r.data()), r.size() * sizeof(element), &r.tracked()};
  } else {
    return region{const_cast<element*>(r.data()), r.size() * sizeof(element), nullptr};
  }
}

template <class From, class To>
concept copyable_to =
    memory_range<std::remove_reference_t<From>> && memory_range<std::remove_reference_t<To>> &&
    std::same_as<std::remove_cv_t<element_of<From>>, element_of<To>> &&
    std::is_trivially_copyable_v<element_of<To>>;

}  // namespace detail

// Queues a copy of all of `from` to the beginning of `to`, and returns. Both are anything with
// data() and size() whose elements are of one trivially copyable type: buffer, pinned_buffer,
// std::span, std::vector, std::array. Each may be memory of the host, pinned, managed, or of any
// device, in any combination; the driver finds out which. `from` may be shorter than `to`; if it is
// longer nothing is queued (invalid_value). Zero elements queue nothing. Both have to live until
// the copy is done; weir's buffers take care of that themselves, and a temporary vector does not
// compile. The stream is not waited for. Memory of the host that is not pinned is staged by the
// driver, and the call may wait for that. In a capture: allowed, and the copy is made at each
// launch of the graph; pageable memory is refused by some drivers; between buffers of two devices
// it is refused (stream_capture_unsupported), and the capture lives on. In a host function:
// refused. cuMemcpyAsync; cuMemcpyPeerAsync between buffers of two devices.
template <class From, class To>
requires detail::copyable_to<From, To>
void copy(stream_ref stream, From&& from, To&& to, call_site at = call_site::current()) {
  static_assert(
      detail::outlives_call<From> && detail::outlives_call<To>,
      "the copy runs later: a temporary would be gone by then; name it, or pass a std::span");
  detail::copy_region(stream, detail::region_of(from), detail::region_of(to), at);
}

// The same for raw addresses of `count` elements.
template <class T>
void copy(stream_ref stream, const T* from, T* to, std::size_t count,
          call_site at = call_site::current()) {
  copy(stream, std::span<const T>{from, count}, std::span<T>{to, count}, at);
}

}  // namespace weir
