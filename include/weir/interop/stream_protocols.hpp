// SPDX-License-Identifier: Apache-2.0
// weir/interop/stream_protocols.hpp - streams as languages and libraries exchange them: the method
// __cuda_stream__, and the stream numbers of DLPack and of the CUDA array interface.
// stream_protocols.h has the functions in C.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/stream/stream.hpp>

#include <optional>

namespace weir {

// The functions of this file convert between numbers and streams. They make no driver call, so they
// are allowed in captures and in host functions, and on any thread. An imported stream is borrowed:
// keep the object that it came from while the stream is used.

// The method __cuda_stream__.

/// The result of the method __cuda_stream__: the version of the protocol, which is 0, and the
/// stream's handle. Handle 0 is the legacy default stream.
struct protocol_stream {
  long long version = 0;
  unsigned long long handle = 0;
};

/// The result of a language binding's call of __cuda_stream__ on an object.
enum class protocol_answer {
  pair,            ///< a sequence of two integers
  no_method,       ///< the object has no __cuda_stream__
  not_callable,    ///< __cuda_stream__ is not a method
  not_a_sequence,  ///< the method returned something without elements
  wrong_length,    ///< a sequence of more or fewer than two elements
  not_integers,    ///< two elements, at least one of which is not an integer
};

/// Returns the stream of a foreign object from the result of the binding's call. `found` is read
/// only if `answer` is `pair`. `type` is the name of the object's type for the error's text; it may
/// be null.
///
/// Throws: `wrong_type`, with a specific text, if the answer is not a pair of integers or the
/// version is not 0; `closed` for the handle of a closed weir stream.
[[nodiscard]] WEIR_EXPORT stream_ref stream_from_protocol(protocol_answer answer,
                                                          protocol_stream found,
                                                          const char* type = nullptr,
                                                          call_site at = call_site::current());

/// Returns what __cuda_stream__ of a binding's own stream class should return. A null stream is
/// exported as handle 1, the legacy default stream. Code that is compiled for per-thread default
/// streams would read handle 0 as the per-thread stream.
///
/// Throws: `closed` for a closed stream.
[[nodiscard]] WEIR_EXPORT protocol_stream stream_to_protocol(stream_ref s,
                                                             call_site at = call_site::current());

// DLPack: the argument `stream` of __dlpack__, the stream on which the consumer will use the data.

/// Returns the consumer's stream. No number and 1 mean the legacy default stream, 2 the per-thread
/// default stream; other positive numbers are handles. Returns an empty optional for -1: the
/// consumer needs no ordering.
///
/// Throws: `invalid_value` for 0, which may mean either default stream, and for numbers below -1;
/// `closed`.
[[nodiscard]] WEIR_EXPORT std::optional<stream_ref> stream_from_dlpack(
    std::optional<long long> number, call_site at = call_site::current());

/// Returns the number for a stream: 1 for the legacy default stream, 2 for the per-thread default
/// stream, else the handle.
///
/// Throws: `closed` for a closed stream.
[[nodiscard]] WEIR_EXPORT long long stream_to_dlpack(stream_ref s,
                                                     call_site at = call_site::current());

// The CUDA array interface, version 3: its entry `stream`, the stream on which the data is
// produced.

/// Returns the producer's stream, for which the consumer's stream has to wait. 1 means the legacy
/// default stream, 2 the per-thread default stream; other positive numbers are handles. Returns an
/// empty optional if there is no number: the data is ready.
///
/// Throws: `invalid_value` for 0, which the interface forbids, and for negative numbers; `closed`.
[[nodiscard]] WEIR_EXPORT std::optional<stream_ref> stream_from_array_interface(
    std::optional<long long> number, call_site at = call_site::current());

/// Returns the number for a stream, as stream_to_dlpack(). Never returns 0.
///
/// Throws: `closed` for a closed stream.
[[nodiscard]] WEIR_EXPORT long long stream_to_array_interface(stream_ref s,
                                                              call_site at = call_site::current());

}  // namespace weir
