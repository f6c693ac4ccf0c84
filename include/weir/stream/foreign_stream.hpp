// weir/stream/foreign_stream.hpp - which types of other libraries are streams: cuda::stream_ref,
// rmm::cuda_stream_view, ...
#pragma once

#include <weir/core/handle.hpp>

#include <concepts>
#include <type_traits>

namespace weir {

class stream;
class stream_ref;
class shared_stream;

namespace detail {

template <class S>
inline constexpr bool is_weir_stream =
    std::is_same_v<S, stream> || std::is_same_v<S, stream_ref> || std::is_same_v<S, shared_stream>;

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

// A class of somebody else that gives a raw stream by get() or value(). A stream_ref is made from
// it implicitly.
template <class S>
concept stream_source = std::is_class_v<S> && !detail::is_weir_stream<S> &&
                        (detail::has_get_handle<S> || detail::has_value_handle<S>);

// One that is also made from a raw stream: a reference type. weir's streams convert to it
// implicitly. Smart pointers, which would own what they are made from, are not meant. The rule is
// structural, so no header of that library is needed here, and none has to be known.
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
