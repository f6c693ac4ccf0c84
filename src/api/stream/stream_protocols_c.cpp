// SPDX-License-Identifier: Apache-2.0
// api/stream/stream_protocols_c.cpp - the C functions for language bindings. They call the C++
// functions and return error numbers.
#include <weir/interop/stream_protocols.h>
#include <weir/interop/stream_protocols.hpp>

#include "api/core/check.hpp"
#include "api/core/thread_singleton.hpp"

#include <weir/core/error.hpp>

#include <new>
#include <string>
#include <string_view>

namespace weir {
namespace {

static_assert(WEIR_SUCCESS == static_cast<int>(errc::success));
static_assert(WEIR_INVALID_VALUE == static_cast<int>(errc::invalid_value));
static_assert(WEIR_CLOSED == static_cast<int>(errc::closed));
static_assert(WEIR_WRONG_TYPE == static_cast<int>(errc::wrong_type));
static_assert(WEIR_PROTOCOL_PAIR == static_cast<int>(protocol_answer::pair));
static_assert(WEIR_PROTOCOL_NOT_INTEGERS == static_cast<int>(protocol_answer::not_integers));

// The text of weir_last_error(), one object per thread. thread_singleton allocates it on the heap,
// because a library that is loaded by a running program has little static thread-local storage.
struct last_error_message {
  std::string text;
};

int set_last_error(errc code, std::string_view text) noexcept {
  try {
    detail::thread_singleton<last_error_message>::get().text = text;
  } catch (const std::bad_alloc&) {
    // Without memory for the text, only the number is returned.
  }
  return static_cast<int>(code);
}

// Runs the body. Returns the number of the error that it throws, whose text weir_last_error() then
// returns.
template <class Body>
int catch_errors(Body&& body) noexcept {
  try {
    body();
    return WEIR_SUCCESS;
  } catch (const error& e) {
    return set_last_error(e.result(), e.what());
  } catch (const std::bad_alloc&) {
    return set_last_error(errc::out_of_memory, "out of memory");
  } catch (const std::exception& e) {
    // Thrown by a host function that the stream ran.
    return set_last_error(errc::unknown, e.what());
  } catch (...) {
    return set_last_error(errc::unknown, "an exception of unknown type");
  }
}

// Throws if one of the pointers is null.
template <class... Pointers>
void require_non_null(const char* call, const Pointers*... pointers) {
  const bool any_missing = ((pointers == nullptr) || ...);
  if (any_missing) {
    detail::throw_error(errc::invalid_value, call, {},
                        "a pointer for a result is null; pass the address of a variable",
                        call_site{});
  }
}

std::optional<long long> number_at(const long long* number) noexcept {
  return number != nullptr ? std::optional{*number} : std::nullopt;
}

// Stores the imported stream and sets *needs_ordering to 1. If there is none, sets *needs_ordering
// to 0.
void assign(std::optional<stream_ref> imported, weir_stream* stream, int* needs_ordering) noexcept {
  *needs_ordering = imported ? 1 : 0;
  if (imported) *stream = imported->get();
}

}  // namespace
}  // namespace weir

using weir::call_site;

// Exports the functions from the library. The header contains no visibility attributes, because it
// is plain C for any compiler.
#pragma GCC visibility push(default)

extern "C" {

const char* weir_last_error(void) {
  try {
    return weir::detail::thread_singleton<weir::last_error_message>::get().text.c_str();
  } catch (const std::bad_alloc&) {
    return "";
  }
}

int weir_stream_from_protocol(int answer, const weir_protocol_stream* found, const char* type,
                              weir_stream* stream) {
  return weir::catch_errors([&] {
    weir::require_non_null("weir_stream_from_protocol", stream);
    if (answer == WEIR_PROTOCOL_PAIR) weir::require_non_null("weir_stream_from_protocol", found);
    const weir::protocol_stream pair = found != nullptr
                                           ? weir::protocol_stream{found->version, found->handle}
                                           : weir::protocol_stream{};
    *stream = weir::stream_from_protocol(static_cast<weir::protocol_answer>(answer), pair, type,
                                         call_site{})
                  .get();
  });
}

int weir_stream_to_protocol(weir_stream stream, weir_protocol_stream* pair) {
  return weir::catch_errors([&] {
    weir::require_non_null("weir_stream_to_protocol", pair);
    const weir::protocol_stream exported = weir::stream_to_protocol(stream, call_site{});
    *pair = {exported.version, exported.handle};
  });
}

int weir_stream_from_dlpack(const long long* number, weir_stream* stream, int* needs_ordering) {
  return weir::catch_errors([&] {
    weir::require_non_null("weir_stream_from_dlpack", stream, needs_ordering);
    weir::assign(weir::stream_from_dlpack(weir::number_at(number), call_site{}), stream,
                 needs_ordering);
  });
}

int weir_stream_to_dlpack(weir_stream stream, long long* number) {
  return weir::catch_errors([&] {
    weir::require_non_null("weir_stream_to_dlpack", number);
    *number = weir::stream_to_dlpack(stream, call_site{});
  });
}

int weir_stream_from_array_interface(const long long* number, weir_stream* stream,
                                     int* needs_ordering) {
  return weir::catch_errors([&] {
    weir::require_non_null("weir_stream_from_array_interface", stream, needs_ordering);
    weir::assign(weir::stream_from_array_interface(weir::number_at(number), call_site{}), stream,
                 needs_ordering);
  });
}

int weir_stream_to_array_interface(weir_stream stream, long long* number) {
  return weir::catch_errors([&] {
    weir::require_non_null("weir_stream_to_array_interface", number);
    *number = weir::stream_to_array_interface(stream, call_site{});
  });
}

int weir_stream_wait(weir_stream consumer, weir_stream producer) {
  return weir::catch_errors(
      [&] { weir::stream_ref{consumer}.wait(weir::stream_ref{producer}, call_site{}); });
}

int weir_stream_sync(weir_stream stream) {
  return weir::catch_errors([&] { weir::stream_ref{stream}.sync(call_site{}); });
}

}  // extern "C"

#pragma GCC visibility pop
