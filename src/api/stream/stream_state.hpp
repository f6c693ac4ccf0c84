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
#include <memory>
#include <optional>
#include <vector>

namespace weir::detail {

class green_state;
class completion_queue;

// Properties of a stream. All are constant except the priority, which only remember_priority()
// changes. Reading them here saves a driver call, which could invalidate a capture.
struct stream_properties {
  abi::CUcontext context = nullptr;
  int device = 0;
  mutable int priority = 0;  // guarded by the lock of the stream's bucket
  bool blocking = false;
  unsigned long long id = 0;     // unique, unlike the handle
  green_state* green = nullptr;  // reference to its green context, or null
};

// The kind of a reference to a stream. A user may queue work in the stream: its weir::stream
// object, a thread whose current stream it is, a capture that began in it, or a buffer that is
// freed in it. An observer only queries the stream, and keeps it from being destroyed.
enum class stream_holder : unsigned char { user, observer };

// The state of one stream that weir owns, with a reference count. The references (see
// stream_holder) keep the driver's stream alive. The release of the last one destroys the stream.
class stream_state {
 public:
  const abi::CUstream handle;
  const stream_properties properties;

  // Registers the stream. The caller holds the first reference, as a user. The handle must not be
  // registered yet.
  stream_state(abi::CUstream stream, const stream_properties& initial_properties) noexcept;

  // Releases one reference. The release of the last one destroys the stream and returns the
  // driver's result. If `destroy_now` is false or the stream is capturing, the reclaimer thread
  // destroys the stream later, and the result is success. The caller must not use the state
  // afterwards.
  [[nodiscard]] errc release(stream_holder holder, bool destroy_now) noexcept;
  // Like release(), for destructors: passes a failure to set_unhandled_error_handler()'s handler.
  void release_noexcept(stream_holder holder) noexcept;
  // Called by the holder of a reference to give the stream to other code. Unregisters the stream
  // and destroys this object, but not the driver's stream. Returns false and does nothing if there
  // are other references.
  [[nodiscard]] bool disown() noexcept;

  // Returns the stream's completion queue; null if it has none yet.
  [[nodiscard]] completion_queue* known_queue() const noexcept {
    return queue_.load(std::memory_order_acquire);
  }

  // Returns true if a user holds a reference. weir queues no more work in a stream without users.
  [[nodiscard]] bool has_users() const noexcept {
    return users_.load(std::memory_order_acquire) != 0;
  }
  // Called by a user. Returns true if there are other users.
  [[nodiscard]] bool has_other_users() const noexcept {
    return users_.load(std::memory_order_acquire) > 1;
  }
  // Called by a holder of a reference. Returns true if there are other references.
  [[nodiscard]] bool has_other_holders() const noexcept {
    return holders_.load(std::memory_order_acquire) > 1;
  }

 private:
  friend stream_state* acquire_stream_state(abi::CUstream stream, stream_holder holder) noexcept;
  friend std::vector<std::unique_ptr<stream_state, struct stream_state_release>>
  acquire_all_streams();
  friend std::optional<stream_properties> find_stream_properties(abi::CUstream stream) noexcept;
  friend void remember_priority(abi::CUstream stream, int priority) noexcept;
  friend completion_queue* queue_of_owned(abi::CUstream stream) noexcept;
  friend void remember_queue(abi::CUstream stream, completion_queue& queue) noexcept;
  ~stream_state() = default;
  [[nodiscard]] bool acquire_if_alive() noexcept;
  void unlink() noexcept;
  [[nodiscard]] errc destroy() noexcept;
  [[nodiscard]] static stream_state* find_in(stream_state* first, abi::CUstream stream) noexcept;

  std::atomic<std::uint32_t> holders_{1};          // number of references
  std::atomic<std::uint32_t> users_{1};            // number of references of users
  stream_state* next_ = nullptr;                   // in the same bucket
  std::atomic<completion_queue*> queue_{nullptr};  // set by remember_queue()
};

// Returns a new reference to the stream with this handle, which the caller must release(). Returns
// null if weir does not own the stream, or another thread is destroying it. Costs about 20 ns,
// because it takes a lock that is rarely contended.
[[nodiscard]] stream_state* acquire_stream_state(abi::CUstream stream,
                                                 stream_holder holder) noexcept;

// A reference of an observer that releases itself.
struct stream_state_release {
  void operator()(stream_state* state) const noexcept {
    state->release_noexcept(stream_holder::observer);
  }
};
using stream_state_ref = std::unique_ptr<stream_state, stream_state_release>;
// Returns references to all streams that weir owns. Costs some microseconds.
[[nodiscard]] std::vector<stream_state_ref> acquire_all_streams();

// Returns the properties of the stream with this handle, if weir owns it. Costs about 20 ns.
[[nodiscard]] std::optional<stream_properties> find_stream_properties(
    abi::CUstream stream) noexcept;

// Called after the priority of the stream with this handle was changed in the driver. Sets
// stream_properties::priority. Does nothing if weir does not own the stream.
void remember_priority(abi::CUstream stream, int priority) noexcept;

// Returns the completion queue of the stream with this handle. Returns null if weir does not own
// the stream or it has no queue yet.
[[nodiscard]] completion_queue* queue_of_owned(abi::CUstream stream) noexcept;
// Sets the completion queue of the stream with this handle. Does nothing if weir does not own the
// stream.
void remember_queue(abi::CUstream stream, completion_queue& queue) noexcept;

// Incremented whenever weir destroys or releases a stream that it owned, and when a primary context
// was reset. A value that was cached by handle before that may belong to a stream that no longer
// exists.
inline constinit std::atomic<std::uint32_t> streams_destroyed{0};

// Returns true if the stream is in a valid capture. Returns false also if the query fails. The
// query affects no capture.
[[nodiscard]] bool is_captured(abi::CUstream stream) noexcept;

// Returns the context of any stream. It is stored for a stream that weir owns, is the current
// context for a default stream, and is queried for any other stream.
[[nodiscard]] abi::CUcontext context_of(abi::CUstream stream, call_site at);

// Returns the id of the context, which the driver never reuses, unlike the handle. Drivers before
// CUDA 12.0 have no ids; with these, the result is the handle as a number.
[[nodiscard]] inline unsigned long long context_id_of(abi::CUcontext context, call_site at) {
  unsigned long long number = 0;
  const abi::CUresult answer = driver().cuCtxGetId(context, &number);
  if (answer == abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) return device_address(context);
  check(answer, "cuCtxGetId", subject{context}, at);
  return number;
}

}  // namespace weir::detail
