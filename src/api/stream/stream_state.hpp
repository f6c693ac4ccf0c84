// api/stream/stream_state.hpp - what weir knows of the streams it owns, found by their handles.
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

// What never changes about a stream, but for the priority, and that by remember_priority() only.
// Knowing it lets accessors answer without a driver call, which may break a capture.
struct stream_properties {
  abi::CUcontext context = nullptr;
  int device = 0;
  mutable int priority = 0;  // with the lock of the stream's handle held
  bool blocking = false;
  unsigned long long id = 0;
  green_state* green = nullptr;  // held for as long as the stream is known
};

// Why somebody holds a stream: to give it more work, as its owner, as a current stream, as where a
// buffer is freed; or only to ask, some day, how far it is.
enum class stream_holder : unsigned char { user, observer };

// One for each stream that weir owns. Its holders keep the driver's stream alive: the owner, and
// whoever has it as the current stream or has to free a buffer there. It is destroyed with the last
// of them.
class stream_state {
 public:
  const abi::CUstream handle;
  const stream_properties properties;

  // Makes weir know the stream; the caller is its first holder, and a user. The handle must not be
  // known yet.
  stream_state(abi::CUstream stream, const stream_properties& initial_properties) noexcept;

  // Gives up one holder's share. The last one destroys the stream, now or, where that may not be
  // (`destroy_now` is false, or the stream captures), later, and answers what the driver says. The
  // state is not to be touched afterwards.
  [[nodiscard]] errc release(stream_holder holder, bool destroy_now) noexcept;
  // The same for destructors: what fails goes to set_unhandled_error_handler.
  void release_noexcept(stream_holder holder) noexcept;
  // For a sole holder: weir forgets the stream, which goes on living. False, with nothing done, if
  // there are others.
  [[nodiscard]] bool disown() noexcept;

  // Null if none is known yet.
  [[nodiscard]] completion_queue* known_queue() const noexcept {
    return lane_.load(std::memory_order_acquire);
  }

  // Without one it gets no more work.
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
  std::atomic<std::uint32_t> users_{1};           // of them
  stream_state* next_ = nullptr;                  // in the same bucket
  std::atomic<completion_queue*> lane_{nullptr};  // remember_queue() says which
};

// A share in the stream of that handle; null if weir does not own it. About 20 ns: a lock that is
// rarely contended.
[[nodiscard]] stream_state* acquire_stream_state(abi::CUstream stream,
                                                 stream_holder holder) noexcept;

// What is known of the stream of that handle, if weir owns it. Costs the same.
[[nodiscard]] std::optional<stream_properties> find_stream_properties(
    abi::CUstream stream) noexcept;

// The stream of that handle has another priority from now on; nothing if weir does not own it.
void remember_priority(abi::CUstream stream, int priority) noexcept;

// The lane of the stream of that handle; null if weir does not own it, or it has none yet.
[[nodiscard]] completion_queue* queue_of_owned(abi::CUstream stream) noexcept;
// What is known of the stream is known of its lane, too, from now on; nothing if weir does not own
// it.
void remember_queue(abi::CUstream stream, completion_queue& queue) noexcept;

// Grows whenever a stream that weir owned is destroyed: what was remembered by handle before that
// may be of another stream now.
inline constinit std::atomic<std::uint32_t> streams_destroyed{0};

// Is the stream in a capture that is good so far? False also where the driver does not say. Harms
// no capture.
[[nodiscard]] bool is_captured(abi::CUstream stream) noexcept;

// The context of any stream: known, asked for, or, of a default stream, the current one.
[[nodiscard]] abi::CUcontext context_of(abi::CUstream stream, call_site at);

// A context's number, which is never used again; its handle may be. Older drivers have none: then
// the handle has to do.
[[nodiscard]] inline unsigned long long context_id_of(abi::CUcontext context, call_site at) {
  unsigned long long number = 0;
  const abi::CUresult answer = driver().cuCtxGetId(context, &number);
  if (answer == abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) return device_address(context);
  check(answer, "cuCtxGetId", subject{context}, at);
  return number;
}

}  // namespace weir::detail
