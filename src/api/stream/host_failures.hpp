// api/stream/host_failures.hpp - exceptions of host functions on their way to the next sync() of
// the stream.
#pragma once

#include "driver/abi.hpp"

#include <atomic>
#include <exception>

namespace weir::detail {

// Which stream a host function was given to, so that a later stream with the same handle is not
// taken for it.
struct stream_identity {
  abi::CUstream handle;
  unsigned long long owner;
  friend bool operator==(const stream_identity&, const stream_identity&) noexcept = default;
};

// Of a stream that weir owns by its id, of a default stream by its thread or current context, of
// others by handle alone.
[[nodiscard]] stream_identity identify(abi::CUstream stream) noexcept;

// A number of the calling thread that no other thread ever has.
[[nodiscard]] unsigned long long unique_thread_id() noexcept;

// The system's number of the calling thread, for texts. The system is asked once a thread.
[[nodiscard]] int system_thread_id() noexcept;

// How many exceptions wait for a sync(). Zero, as nearly always, makes asking for one a single
// load.
inline constinit std::atomic<int> pending_host_failures{0};

// Keeps what a host function has thrown; straight to the hook if its stream is gone.
void store_host_failure(const stream_identity& stream, std::exception_ptr failure) noexcept;

// Throws the first exception that waits for the stream; the others go to the hook.
void throw_host_failures(const stream_identity& stream);

inline void throw_host_failure_if_any(abi::CUstream stream) {
  if (pending_host_failures.load(std::memory_order_acquire) != 0) [[unlikely]] {
    throw_host_failures(identify(stream));
  }
}

// Nobody can sync the stream any more: what waits for it goes to the hook.
void report_host_failures(abi::CUstream stream, unsigned long long owner) noexcept;

}  // namespace weir::detail
