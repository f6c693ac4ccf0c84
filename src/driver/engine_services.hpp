// SPDX-License-Identifier: Apache-2.0
// driver/engine_services.hpp - functions of the embedded driver that CUDA does not have.
#pragma once

#include "driver/abi/engine_callback.hpp"
#include "driver/table.hpp"

#include <atomic>
#include <cstdint>

namespace weir::detail {

// A point in a stream's work. It is reached when `count` operations of `timeline` are complete. A
// timeline is the engine's queue of a stream's operations, in order. It is never destroyed.
struct timeline_point {
  void* timeline = nullptr;
  std::uint64_t count = 0;
};

// The context of a stream. `generation` is the generation of a primary context, which a reset
// increments. The object behind `context` is never destroyed.
struct work_context {
  void* context = nullptr;
  unsigned long long generation = 0;
};

// Makes a deterministic schedule repeat the order of all work, which must follow from the
// program's calls alone.
//
// Thread safety: all functions may be called from any thread, except for take_turn().
struct deterministic_services {
  // The reclaimer thread runs in turns, while a thread of the program waits. This asks for a turn.
  // The reclaimer thread runs or has been created.
  void (*request_turn)() noexcept;
  // Called by the reclaimer thread: ends its turn, and returns when it has another one.
  void (*take_turn)() noexcept;
  // Gives the reclaimer thread a requested turn, and returns when the turn has ended.
  void (*give_turn)() noexcept;
  // Runs one operation of any stream, for a thread that waits for the reclaimer thread. Sleeps for
  // a short time if none can run.
  void (*run_operation)() noexcept;

  // Enclose a call that may take long. Without them, a thread that makes no calls counts as
  // inactive after some time, and work proceeds.
  void (*begin_long_call)() noexcept;
  void (*end_long_call)() noexcept;
};

// Thread safety: all functions may be called from any thread.
struct engine_services {
  // Returns in `end` the point after all work that was queued in the stream so far, and in
  // `context` its context, which does not change while the stream exists. Checks what cuEventRecord
  // would check. In a capture: returns CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, or _INVALIDATED if
  // the capture is invalidated. The call itself never invalidates a capture.
  CUresult (*end_of_stream)(CUstream stream, timeline_point& end, work_context& context) noexcept;

  // Like end_of_stream, for the last record of an event that was not recorded in a capture. Returns
  // CUDA_ERROR_NOT_SUPPORTED for an event that is shared with another process.
  CUresult (*end_of_event)(CUevent event, timeline_point& end, work_context& context) noexcept;

  // Returns true if the point is reached.
  bool (*reached)(const timeline_point& point) noexcept;

  // Returns CUDA_SUCCESS, or the error with which the context's work has failed.
  CUresult (*context_status)(const work_context& context) noexcept;

  // Waits for the point for a limited time without sleeping, and runs pending work for it on the
  // calling thread. Returns true if the point is reached; the driver then records that the host has
  // waited for it.
  bool (*wait_spinning)(const timeline_point& point) noexcept;

  // Runs pending work for the point without waiting, if the schedule lets waiting threads do so.
  // Returns true if no other thread runs such work while this thread waits, so that it must not
  // sleep.
  bool (*run_pending_work)(const timeline_point& point) noexcept;

  // Registers a callback that is called when the point is reached. Returns false and does nothing
  // if the point is already reached. Throws: std::bad_alloc.
  bool (*notify_at)(const timeline_point& point, engine_callback& callback);
  // Returns true if the callback was not called and will not be.
  bool (*cancel_notification)(const timeline_point& point, engine_callback& callback) noexcept;

  // Registers a function that is called after a device has failed, on the thread that found the
  // failure.
  void (*on_failure)(void (*hook)() noexcept) noexcept;

  // Makes all devices fail with this code, as a failing kernel does.
  void (*fail_device)(CUresult code) noexcept;

  // Null unless the schedule is deterministic.
  const deterministic_services* deterministic;
};

// The embedded driver's services and its table. Null for other drivers, and for a drop-in of
// another version of weir.
inline constinit std::atomic<const engine_services*> embedded_services{nullptr};
inline constinit std::atomic<const driver_table*> embedded_table{nullptr};

// Returns the services of a deterministic schedule; null for other schedules and other drivers.
[[nodiscard]] inline const deterministic_services* active_deterministic_services() noexcept {
  const engine_services* const services = embedded_services.load(std::memory_order_acquire);
  return services == nullptr ? nullptr : services->deterministic;
}

// Returns the services if the embedded driver is in use and no other table is installed over its
// own. A program that installs a table wants to see all calls, which the services would bypass.
[[nodiscard]] inline const engine_services* active_engine_services() noexcept {
  const driver_table* const own = embedded_table.load(std::memory_order_acquire);
  if (own == nullptr || own != table_in_use.load(std::memory_order_relaxed)) return nullptr;
  return embedded_services.load(std::memory_order_relaxed);
}

}  // namespace weir::detail
