// SPDX-License-Identifier: Apache-2.0
// api/stream/host_failures.hpp - exceptions of host functions, kept until the next sync() of the
// stream.
#pragma once

#include "driver/abi.hpp"

#include <atomic>
#include <exception>

namespace weir::detail {

// Identifies the stream that a host function was added to. The driver may reuse the handle for
// another stream, which has a different `owner`.
struct stream_identity {
  abi::CUstream handle;
  unsigned long long owner;
  friend bool operator==(const stream_identity&, const stream_identity&) noexcept = default;
};

// Returns the handle and `owner`, a number that depends on the kind of stream. It is the stream's
// id if weir owns the stream, unique_thread_id() for the per-thread default stream, the current
// context for the legacy default stream, and 0 for any other stream.
[[nodiscard]] stream_identity identify(abi::CUstream stream) noexcept;

// Returns an id of the calling thread that is never reused.
[[nodiscard]] unsigned long long unique_thread_id() noexcept;

// Returns the operating system's id of the calling thread, for messages. Queried once per thread.
[[nodiscard]] int system_thread_id() noexcept;

// Number of stored exceptions that no sync() has thrown yet. While it is 0, as is usual, a check
// costs one load.
inline constinit std::atomic<int> pending_host_failures{0};

// Stores an exception of a host function until the next sync() of its stream. If the stream was
// destroyed or memory is exhausted, passes the exception to the unhandled error handler instead.
void store_host_failure(const stream_identity& stream, std::exception_ptr failure) noexcept;

// Throws the first stored exception of the stream, if there is one. Passes its other exceptions to
// the unhandled error handler.
void throw_host_failures(const stream_identity& stream);

inline void throw_host_failure_if_any(abi::CUstream stream) {
  if (pending_host_failures.load(std::memory_order_acquire) != 0) [[unlikely]] {
    throw_host_failures(identify(stream));
  }
}

// Called when a stream is destroyed or released. Passes its stored exceptions to the unhandled
// error handler.
void report_host_failures(abi::CUstream stream, unsigned long long owner) noexcept;

}  // namespace weir::detail
