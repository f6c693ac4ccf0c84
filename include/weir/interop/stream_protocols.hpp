// weir/interop/stream_protocols.hpp - streams as other languages and libraries pass them to each
// other: the method
// __cuda_stream__, the stream numbers of DLPack, those of the CUDA array interface.
// stream_protocols.h is the same in C.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/stream/stream.hpp>

#include <optional>

namespace weir {

// All of these take and give numbers and make no driver call, so they are allowed anywhere, in
// captures and in host functions too. What they import is borrowed: the object that it came from
// has to be kept while the stream is used. Thread safety: from any thread.

// The method __cuda_stream__.

// What the method gives: the version of the protocol, 0, and the handle. Handle 0 is the legacy
// default stream.
struct protocol_stream {
  long long version = 0;
  unsigned long long handle = 0;
};

// What a binding found when it asked an object of its language for its stream.
enum class protocol_answer {
  pair,            // a sequence of two integers
  no_method,       // the object has no __cuda_stream__
  not_callable,    // it has one, which is no method
  not_a_sequence,  // the method gave something that has no elements
  wrong_length,    // a sequence of other than two elements
  not_integers,    // two elements, and one of them is no integer
};

// The stream that a foreign object is. `type` is the name of its type, for the text of the error;
// it may be null. Throws error: wrong_type for whatever is not a pair of integers, each with a text
// of its own, and for a version other than 0; closed for the handle of a stream of weir's that was
// closed.
[[nodiscard]] WEIR_EXPORT stream_ref stream_from_protocol(protocol_answer answer,
                                                          protocol_stream found,
                                                          const char* type = nullptr,
                                                          call_site at = call_site::current());

// What __cuda_stream__ of a binding's own stream gives. Null is exported as 1, since 0 means
// another stream to whoever is compiled for per-thread default streams. Throws error: closed.
[[nodiscard]] WEIR_EXPORT protocol_stream stream_to_protocol(stream_ref s,
                                                             call_site at = call_site::current());

// DLPack: the argument `stream` of __dlpack__, which says on which stream the consumer is going to
// use the data.

// The consumer's stream: none given means the legacy default stream, as 1 does; 2 is the per-thread
// one; other positive numbers are handles. Empty for -1: the consumer wants no order. Throws error:
// invalid_value for 0, which may mean either default stream, and for what is below -1; closed.
[[nodiscard]] WEIR_EXPORT std::optional<stream_ref> stream_from_dlpack(
    std::optional<long long> number, call_site at = call_site::current());

// The number that says this stream: 1, 2, or the handle. Throws error: closed.
[[nodiscard]] WEIR_EXPORT long long stream_to_dlpack(stream_ref s,
                                                     call_site at = call_site::current());

// The CUDA array interface, version 3: its entry `stream`, which says on which stream the data is
// being made.

// The producer's stream, which the consumer's has to wait for: 1, 2, or a handle. Empty where none
// is given: the data is there already. Throws error: invalid_value for 0, which the interface
// forbids, and below; closed.
[[nodiscard]] WEIR_EXPORT std::optional<stream_ref> stream_from_array_interface(
    std::optional<long long> number, call_site at = call_site::current());

// What to export: 1, 2, or the handle; never 0. Throws error: closed.
[[nodiscard]] WEIR_EXPORT long long stream_to_array_interface(stream_ref s,
                                                              call_site at = call_site::current());

}  // namespace weir
