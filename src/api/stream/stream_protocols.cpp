// SPDX-License-Identifier: Apache-2.0
// api/stream/stream_protocols.cpp - streams exchanged with other languages and libraries.
#include <weir/interop/stream_protocols.hpp>

#include "api/core/check.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace weir {
namespace {

// Returns the text of the error for `answer`. Returns an empty text for a pair, which is no error,
// and null for a value outside the enumeration.
const char* protocol_error_text(protocol_answer answer) noexcept {
  switch (answer) {
    case protocol_answer::pair: return "";
    case protocol_answer::no_method:
      return "the object has no method __cuda_stream__; pass an object that implements the "
             "stream protocol";
    case protocol_answer::not_callable:
      return "the object's __cuda_stream__ cannot be called; make it a method";
    case protocol_answer::not_a_sequence:
      return "the object's __cuda_stream__() does not return a sequence; return the pair "
             "(version, handle)";
    case protocol_answer::wrong_length:
      return "the object's __cuda_stream__() does not return two elements; return the pair "
             "(version, handle)";
    case protocol_answer::not_integers:
      return "the object's __cuda_stream__() returns an element that is not an integer; "
             "return two integers (version, handle)";
  }
  return nullptr;
}

[[noreturn]] void throw_wrong_type(const char* type, std::string hint, call_site at) {
  std::string object =
      type != nullptr ? fmt::format("an object of type '{}'", type) : "a foreign object";
  detail::throw_error(errc::wrong_type, "stream_from_protocol", std::move(object), std::move(hint),
                      at);
}

// Returns the stream whose handle has the bits of this number.
stream_ref open_stream(unsigned long long bits, const char* call, call_site at) {
  const stream_ref s{reinterpret_cast<CUstream_st*>(static_cast<std::uintptr_t>(bits))};
  if (s.get() == detail::closed_handle<CUstream_st>()) detail::throw_closed(call, s, at);
  return s;
}

// Returns the handle of a stream as a number for other libraries. Never returns 0, which could mean
// the legacy or the per-thread default stream.
unsigned long long exported_handle(stream_ref s, const char* call, call_site at) {
  if (s.get() == detail::closed_handle<CUstream_st>()) detail::throw_closed(call, s, at);
  return reinterpret_cast<std::uintptr_t>(detail::is_legacy(s.get()) ? abi::CU_STREAM_LEGACY
                                                                     : s.get());
}

[[noreturn]] void throw_invalid_number(const char* call, long long number, const char* hint,
                                       call_site at) {
  detail::throw_error(errc::invalid_value, call, fmt::format("stream number {}", number), hint, at);
}

}  // namespace

stream_ref stream_from_protocol(protocol_answer answer, protocol_stream found, const char* type,
                                call_site at) {
  const char* const wrong = protocol_error_text(answer);
  if (wrong == nullptr) {
    detail::throw_error(
        errc::invalid_value, "stream_from_protocol",
        fmt::format("protocol_answer {}", static_cast<int>(answer)),
        "the number is not a value of weir::protocol_answer; pass one of its enumerators", at);
  }
  if (answer != protocol_answer::pair) throw_wrong_type(type, wrong, at);
  if (found.version != 0) {
    throw_wrong_type(
        type,
        fmt::format(
            "the object implements version {} of __cuda_stream__, and weir supports version "
            "0; use version 0",
            found.version),
        at);
  }
  return open_stream(found.handle, "stream_from_protocol", at);
}

protocol_stream stream_to_protocol(stream_ref s, call_site at) {
  return {.version = 0, .handle = exported_handle(s, "stream_to_protocol", at)};
}

std::optional<stream_ref> stream_from_dlpack(std::optional<long long> number, call_site at) {
  constexpr const char* call = "stream_from_dlpack";
  if (!number) return stream_ref::legacy();
  if (*number == -1) return std::nullopt;
  if (*number == 0)
    throw_invalid_number(
        call, 0,
        "0 is ambiguous between the two default streams; use 1 for the legacy or 2 for "
        "the per-thread default stream",
        at);
  if (*number < -1)
    throw_invalid_number(
        call, *number,
        "DLPack does not define this negative number; use -1 for no ordering, or the "
        "number of a stream",
        at);
  return open_stream(static_cast<unsigned long long>(*number), call, at);
}

long long stream_to_dlpack(stream_ref s, call_site at) {
  return static_cast<long long>(exported_handle(s, "stream_to_dlpack", at));
}

std::optional<stream_ref> stream_from_array_interface(std::optional<long long> number,
                                                      call_site at) {
  constexpr const char* call = "stream_from_array_interface";
  if (!number) return std::nullopt;
  if (*number == 0)
    throw_invalid_number(
        call, 0,
        "the array interface forbids 0; use 1 for the legacy or 2 for the per-thread "
        "default stream",
        at);
  if (*number < 0)
    throw_invalid_number(
        call, *number,
        "the array interface does not define negative numbers; use the number of a stream", at);
  return open_stream(static_cast<unsigned long long>(*number), call, at);
}

long long stream_to_array_interface(stream_ref s, call_site at) {
  return static_cast<long long>(exported_handle(s, "stream_to_array_interface", at));
}

}  // namespace weir
