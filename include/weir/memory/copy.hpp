// SPDX-License-Identifier: Apache-2.0
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

/// The memory of an operation, such as the source or the target of a copy: its address and size,
/// and the owner that records the streams that use it.
struct region {
  void* address;
  std::size_t bytes;
  /// Null for a span or a pointer. The operation then looks for an allocation of weir that contains
  /// the address.
  const tracked_memory* owner;
};

WEIR_EXPORT void copy_region(stream_ref stream, const region& source, const region& target,
                             call_site at);

template <class R>
concept tracked_range = requires(const R& r) {
  { r.tracked() } -> std::same_as<const tracked_memory&>;
};

/// A type with data() and size(): buffers, spans, vectors, arrays.
template <class R>
concept memory_range = requires(R& r) {
  { *r.data() } -> std::convertible_to<const volatile std::remove_cvref_t<decltype(*r.data())>&>;
  { r.size() } -> std::convertible_to<std::size_t>;
};

template <class R>
using element_of = std::remove_reference_t<decltype(*std::declval<R&>().data())>;

/// True if R is an lvalue or a view such as std::span, so that the memory outlives the call. Queued
/// work uses the memory after the call, so a temporary container is not accepted.
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

template <class Source, class Target>
concept copyable_to = memory_range<std::remove_reference_t<Source>> &&
    memory_range<std::remove_reference_t<Target>> &&
    std::same_as<std::remove_cv_t<element_of<Source>>, element_of<Target>> &&
    std::is_trivially_copyable_v<element_of<Target>>;

}  // namespace detail

/// Queues a copy of all of `source` to the beginning of `target`, and returns without waiting.
///
/// Both are types with data() and size() whose elements have one trivially copyable type: buffer,
/// pinned_buffer, std::span, std::vector, std::array. Each may be host, pinned, managed or device
/// memory, of any device; the driver detects the kind. `source` may be shorter than `target`. Zero
/// elements queue nothing.
/// Both memories must live until the copy is done. Outside a capture, weir's buffers ensure that
/// themselves: they are freed only after the copy. The same holds for a part of a buffer
/// (x.part(first, count)), and for a std::span or a pointer into one, whose buffer is found by the
/// address. A temporary vector does not compile. For host memory that is not pinned, the driver
/// copies through a pinned buffer of its own. The call may block for that, and may read the source
/// before work queued earlier writes it. A copy between host memory blocks until it is done.
///
/// Throws: `invalid_value` if `source` is longer than `target`; nothing is queued.
/// In a capture: allowed; each launch of the graph makes the copy. Both memories must live until no
/// launch uses them. weir's buffers wait in their free for the launches that were queued before it;
/// graph_ref::keep() gives an owner to the graph. Some drivers refuse pageable
/// memory. A copy between buffers of two devices throws `stream_capture_unsupported`, and the
/// capture stays valid.
/// In a host function: throws `not_permitted`.
/// Driver: cuMemcpyAsync; cuMemcpyPeerAsync between buffers of two devices.
template <class Source, class Target>
requires detail::copyable_to<Source, Target>
void copy(stream_ref stream, Source&& source, Target&& target,
          call_site at = call_site::current()) {
  static_assert(
      detail::outlives_call<Source> && detail::outlives_call<Target>,
      "the copy runs later: a temporary would be gone by then; name it, or pass a std::span");
  detail::copy_region(stream, detail::region_of(source), detail::region_of(target), at);
}

/// Queues a copy of `count` elements between raw addresses, like copy() of two spans.
template <class T>
void copy(stream_ref stream, const T* source, T* target, std::size_t count,
          call_site at = call_site::current()) {
  copy(stream, std::span<const T>{source, count}, std::span<T>{target, count}, at);
}

}  // namespace weir
