// SPDX-License-Identifier: Apache-2.0
// api/stream/host_failures.hpp - exceptions of host functions, kept until the next sync() of the
// stream.
#pragma once

#include "driver/abi.hpp"

#include <atomic>
#include <exception>

namespace weir::detail {

// Identifies the stream that a host function was added to, so that a later stream with a reused
// handle is not mistaken for it.
struct stream_identity {
  abi::CUstream handle;
  unsigned long long owner;
  friend bool operator==(const stream_identity&, const stream_identity&) noexcept = default;
};

// Returns the handle and the owner. The owner is the id of a stream that weir owns. For a default
// stream it is the thread or the current context. It is 0 for other streams.
[[nodiscard]] stream_identity identify(abi::CUstream stream) noexcept;

// Returns an id of the calling thread that is never reused.
[[nodiscard]] unsigned long long unique_thread_id() noexcept;

// Returns the operating system's id of the calling thread, for texts. Queried once per thread.
[[nodiscard]] int system_thread_id() noexcept;

// The number of exceptions that wait for a sync(). While it is 0, as is usual, the check costs one
// load.
inline constinit std::atomic<int> pending_host_failures{0};

// Keeps an exception of a host function. Passes it to the unhandled error handler immediately if
// the stream was destroyed.
void store_host_failure(const stream_identity& stream, std::exception_ptr failure) noexcept;

// Throws the first exception that waits for the stream. Passes the others to the unhandled error
// handler.
void throw_host_failures(const stream_identity& stream);

inline void throw_host_failure_if_any(abi::CUstream stream) {
  if (pending_host_failures.load(std::memory_order_acquire) != 0) [[unlikely]] {
    throw_host_failures(identify(stream));
  }
}

// Passes the waiting exceptions of a stream that can no longer be synchronized to the unhandled
// error handler.
void report_host_failures(abi::CUstream stream, unsigned long long owner) noexcept;

}  // namespace weir::detail
