// SPDX-License-Identifier: Apache-2.0
// api/stream/stream_state.hpp - the streams that weir owns, found by their handles.
#pragma once

#include "api/core/check.hpp"
#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/stream/stream.hpp>

#include <atomic>
#include <cstdint>
#include <optional>

namespace weir::detail {

class green_state;
class completion_queue;

// Properties of a stream. All are constant except the priority, which only remember_priority()
// changes. Accessors that find them need no driver call, which may invalidate a capture.
struct stream_properties {
  abi::CUcontext context = nullptr;
  int device = 0;
  mutable int priority = 0;  // guarded by the lock of the stream's bucket
  bool blocking = false;
  unsigned long long id = 0;
  green_state* green = nullptr;  // a reference, held as long as the stream is registered
};

// The kind of a reference. A user may add work: the owner, a current stream, a buffer that is freed
// in it. An observer only queries the stream.
enum class stream_holder : unsigned char { user, observer };

// The state of one stream that weir owns, with a reference count. Its holders keep the driver's
// stream alive: the owner, threads that have it as current stream, and buffers that are freed in
// it. The last one destroys it.
class stream_state {
 public:
  const abi::CUstream handle;
  const stream_properties properties;

  // Registers the stream. The caller is its first holder and a user. The handle must not be
  // registered yet.
  stream_state(abi::CUstream stream, const stream_properties& initial_properties) noexcept;

  // Releases one reference. The last one destroys the stream and returns the driver's result. It
  // does so later if `destroy_now` is false or the stream captures. The state must not be used
  // afterwards.
  [[nodiscard]] errc release(stream_holder holder, bool destroy_now) noexcept;
  // Like release(), for destructors: passes a failure to set_unhandled_error_handler()'s handler.
  void release_noexcept(stream_holder holder) noexcept;
  // Unregisters the stream without destroying it. Returns false and does nothing if there are other
  // holders.
  [[nodiscard]] bool disown() noexcept;

  // Returns the stream's completion queue; null if it has none yet.
  [[nodiscard]] completion_queue* known_queue() const noexcept {
    return queue_.load(std::memory_order_acquire);
  }

  // A stream without users gets no more work.
  [[nodiscard]] bool has_users() const noexcept {
    return users_.load(std::memory_order_acquire) != 0;
  }
  [[nodiscard]] bool has_other_users() const noexcept {
    return users_.load(std::memory_order_acquire) > 1;
  }
  [[nodiscard]] bool has_other_holders() const noexcept {
    return holders_.load(std::memory_order_acquire) > 1;
  }

 private:
  friend stream_state* acquire_stream_state(abi::CUstream stream, stream_holder holder) noexcept;
  friend std::optional<stream_properties> find_stream_properties(abi::CUstream stream) noexcept;
  friend void remember_priority(abi::CUstream stream, int priority) noexcept;
  friend completion_queue* queue_of_owned(abi::CUstream stream) noexcept;
  friend void remember_queue(abi::CUstream stream, completion_queue& queue) noexcept;
  ~stream_state() = default;
  [[nodiscard]] bool acquire_if_alive() noexcept;
  void unlink() noexcept;
  [[nodiscard]] errc destroy() noexcept;
  [[nodiscard]] static stream_state* find_in(stream_state* first, abi::CUstream stream) noexcept;

  std::atomic<std::uint32_t> holders_{1};
  std::atomic<std::uint32_t> users_{1};            // the number of holders that are users
  stream_state* next_ = nullptr;                   // in the same bucket
  std::atomic<completion_queue*> queue_{nullptr};  // set by remember_queue()
};

// Returns a reference to the stream with this handle; null if weir does not own it. About 20 ns:
// takes a lock that is rarely contended.
[[nodiscard]] stream_state* acquire_stream_state(abi::CUstream stream,
                                                 stream_holder holder) noexcept;

// Returns the properties of the stream with this handle, if weir owns it. About 20 ns.
[[nodiscard]] std::optional<stream_properties> find_stream_properties(
    abi::CUstream stream) noexcept;

// Sets the recorded priority of the stream with this handle. Does nothing if weir does not own it.
void remember_priority(abi::CUstream stream, int priority) noexcept;

// Returns the completion queue of the stream with this handle; null if weir does not own it or it
// has none yet.
[[nodiscard]] completion_queue* queue_of_owned(abi::CUstream stream) noexcept;
// Records the completion queue of the stream. Does nothing if weir does not own the stream.
void remember_queue(abi::CUstream stream, completion_queue& queue) noexcept;

// Incremented whenever a stream that weir owned is destroyed. Values cached by handle before that
// may belong to another stream.
inline constinit std::atomic<std::uint32_t> streams_destroyed{0};

// Returns true if the stream is in a valid capture; false also if the query fails. Harmless to
// captures.
[[nodiscard]] bool is_captured(abi::CUstream stream) noexcept;

// Returns the context of any stream: the recorded one, the queried one, or the current one for a
// default stream.
[[nodiscard]] abi::CUcontext context_of(abi::CUstream stream, call_site at);

// Returns an id of the context that is never reused, unlike its handle. Returns the handle for
// older drivers, which have no ids.
[[nodiscard]] inline unsigned long long context_id_of(abi::CUcontext context, call_site at) {
  unsigned long long number = 0;
  const abi::CUresult answer = driver().cuCtxGetId(context, &number);
  if (answer == abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) return device_address(context);
  check(answer, "cuCtxGetId", subject{context}, at);
  return number;
}

}  // namespace weir::detail
