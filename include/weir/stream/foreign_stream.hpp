// SPDX-License-Identifier: Apache-2.0
// weir/stream/foreign_stream.hpp - concepts for stream types of other libraries: cuda::stream_ref,
// rmm::cuda_stream_view, ...
#pragma once

#include <weir/core/handle.hpp>

#include <concepts>
#include <type_traits>

namespace weir {

class stream_ref;

namespace detail {

template <class S>
inline constexpr bool is_weir_stream =
    std::is_convertible_v<const S*, const stream_ref*>;  // pointers, because S may be incomplete

template <class S>
concept has_get_handle = requires(const S& s) {
  { s.get() } -> std::same_as<CUstream_st*>;
};

template <class S>
concept has_value_handle = requires(const S& s) {
  { s.value() } -> std::same_as<CUstream_st*>;
};

template <class S>
concept smart_pointer = requires {
  typename S::element_type;
};

}  // namespace detail

/// A class of another library that returns a raw stream from get() or value(). Its objects convert
/// to weir::stream_ref implicitly.
template <class S>
concept stream_source = std::is_class_v<S> && !detail::is_weir_stream<S> &&
                        (detail::has_get_handle<S> || detail::has_value_handle<S>);

/// A stream_source that can also be constructed from a raw stream: a type that refers to a stream
/// and does not own it. weir's streams convert to such a type implicitly. Smart pointers, which
/// would take ownership, are excluded. The concept needs no header of the other library.
template <class S>
concept foreign_stream =
    stream_source<S> && std::constructible_from<S, CUstream_st*> && !detail::smart_pointer<S>;

namespace detail {

template <stream_source S>
[[nodiscard]] constexpr CUstream_st* raw_stream(const S& s) noexcept {
  if constexpr (has_get_handle<S>) {
    return s.get();
  } else {
    return s.value();
  }
}

}  // namespace detail
}  // namespace weir
