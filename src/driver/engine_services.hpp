// driver/engine_services.hpp - what the embedded driver tells a program in its own process beside
// CUDA's functions.
#pragma once

#include "driver/table.hpp"

#include <atomic>
#include <cstdint>

namespace weir::detail {

// A point in a stream's work: reached when so many operations are complete. Its line and its
// context live for ever.
struct timeline_point {
  void* line = nullptr;
  std::uint64_t count = 0;
};

// Whose stream it is: a context in one of its lives.
struct work_context {
  void* context = nullptr;
  unsigned long long life = 0;
};

// Somebody who is told once that a point is reached, by a thread of the engine that goes on
// meanwhile: `reached` passes it on and returns. It lives until then, or until it is taken back.
struct engine_callback {
  void (*reached)(engine_callback& self) noexcept = nullptr;
};

// Thread safety: all of them, from any thread.
struct engine_services {
  // Where everything ends that the stream was given so far. Checks what cuEventRecord would, and
  // refuses a stream that captures: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, or _INVALIDATED where
  // its capture is broken. To ask breaks none. What `home` tells holds for the stream's life.
  CUresult (*end_of_stream)(CUstream stream, timeline_point& end, work_context& home) noexcept;

  // The same for the last record of an event, which is not captured.
  CUresult (*end_of_event)(CUevent event, timeline_point& end, work_context& home) noexcept;

  bool (*reached)(const timeline_point& point) noexcept;

  // What has become of the context: CUDA_SUCCESS while it is well.
  CUresult (*context_status)(const work_context& home) noexcept;

  // The calling thread waits for the point and runs what there is to run for that, but does not
  // sleep. True if it is reached, of which the driver then takes note, as of any wait of the
  // host's.
  bool (*wait_spinning)(const timeline_point& point) noexcept;

  // Runs what there is to run for that, and does not wait. Only where that is the schedule's way.
  // True if nobody else does for as long as the thread waits: it should not sleep then.
  bool (*run_pending_work)(const timeline_point& point) noexcept;

  // False, and nothing noted, if the point is reached already. Throws std::bad_alloc.
  bool (*notify_at)(const timeline_point& point, engine_callback& callback);
  // True if it was not told and will not be.
  bool (*cancel_notification)(const timeline_point& point, engine_callback& callback) noexcept;

  // Is called by whoever lets the device fail, after it has.
  void (*on_failure)(void (*what)() noexcept) noexcept;
};

// The embedded driver's services, and the table that they belong to; null for other drivers.
inline constinit std::atomic<const engine_services*> embedded_services{nullptr};
inline constinit std::atomic<const driver_table*> embedded_table{nullptr};

// The services, if that driver is in use without another table over it: those who put one there
// want to see the calls.
[[nodiscard]] inline const engine_services* active_engine_services() noexcept {
  const driver_table* const own = embedded_table.load(std::memory_order_acquire);
  if (own == nullptr || own != table_in_use.load(std::memory_order_relaxed)) return nullptr;
  return embedded_services.load(std::memory_order_relaxed);
}

}  // namespace weir::detail
