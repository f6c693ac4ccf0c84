// api/stream/stream_protocols.cpp - streams as other languages and libraries pass them to each
// other.
#include <weir/interop/stream_protocols.hpp>

#include "api/core/check.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace weir {
namespace {

// What is wrong with an answer that is no pair.
const char* protocol_error_text(protocol_answer answer) noexcept {
  switch (answer) {
    case protocol_answer::pair: return "";
    case protocol_answer::no_method: return "it has no method __cuda_stream__, so it is no stream";
    case protocol_answer::not_callable:
      return "its __cuda_stream__ has to be a method, and cannot be called";
    case protocol_answer::not_a_sequence:
      return "its __cuda_stream__() has to give a pair, and gives no sequence";
    case protocol_answer::wrong_length:
      return "its __cuda_stream__() has to give two elements: version and handle";
    case protocol_answer::not_integers:
      return "both elements that its __cuda_stream__() gives have to be integers";
  }
  return nullptr;
}

[[noreturn]] void throw_wrong_type(const char* type, std::string hint, call_site at) {
  std::string object =
      type != nullptr ? fmt::format("an object of type '{}'", type) : "a foreign object";
  detail::throw_error(errc::wrong_type, "stream_from_protocol", std::move(object), std::move(hint),
                      at);
}

// A handle of which only the bits are known.
CUstream_st* handle_of(unsigned long long bits) noexcept {
  return reinterpret_cast<CUstream_st*>(static_cast<std::uintptr_t>(bits));
}

stream_ref open_stream(unsigned long long bits, const char* call, call_site at) {
  const stream_ref s{handle_of(bits)};
  if (s.get() == detail::closed_handle<CUstream_st>()) detail::throw_closed(call, s, at);
  return s;
}

// The bits that a stream is exported with: never 0, which means two things.
unsigned long long exported(stream_ref s, const char* call, call_site at) {
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
    detail::throw_error(errc::invalid_value, "stream_from_protocol",
                        fmt::format("protocol_answer {}", static_cast<int>(answer)),
                        "it is not one of the enumeration", at);
  }
  if (answer != protocol_answer::pair) throw_wrong_type(type, wrong, at);
  if (found.version != 0) {
    throw_wrong_type(
        type,
        fmt::format("it speaks version {} of __cuda_stream__, and only 0 is known", found.version),
        at);
  }
  return open_stream(found.handle, "stream_from_protocol", at);
}

protocol_stream stream_to_protocol(stream_ref s, call_site at) {
  return {.version = 0, .handle = exported(s, "stream_to_protocol", at)};
}

std::optional<stream_ref> stream_from_dlpack(std::optional<long long> number, call_site at) {
  constexpr const char* call = "stream_from_dlpack";
  if (!number) return stream_ref::legacy();
  if (*number == -1) return std::nullopt;
  if (*number == 0)
    throw_invalid_number(
        call, 0, "0 may mean either default stream: 1 is the legacy one, 2 the per-thread one", at);
  if (*number < -1)
    throw_invalid_number(call, *number,
                         "of the negative numbers DLPack knows -1 alone: no order is wanted", at);
  return open_stream(static_cast<unsigned long long>(*number), call, at);
}

long long stream_to_dlpack(stream_ref s, call_site at) {
  return static_cast<long long>(exported(s, "stream_to_dlpack", at));
}

std::optional<stream_ref> stream_from_array_interface(std::optional<long long> number,
                                                      call_site at) {
  constexpr const char* call = "stream_from_array_interface";
  if (!number) return std::nullopt;
  if (*number == 0)
    throw_invalid_number(
        call, 0, "the array interface forbids 0: 1 is the legacy stream, 2 the per-thread one", at);
  if (*number < 0)
    throw_invalid_number(call, *number, "the array interface has no negative numbers of streams",
                         at);
  return open_stream(static_cast<unsigned long long>(*number), call, at);
}

long long stream_to_array_interface(stream_ref s, call_site at) {
  return static_cast<long long>(exported(s, "stream_to_array_interface", at));
}

}  // namespace weir
