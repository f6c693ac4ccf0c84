// SPDX-License-Identifier: Apache-2.0
// model/stream/event.hpp - an event: the point in a stream's work that it last recorded.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "driver/abi.hpp"
#include "embedded/engine/biased_lock.hpp"
#include "embedded/engine/operation.hpp"
#include "embedded/engine/seqlock.hpp"
#include "embedded/engine/timeline.hpp"
#include "embedded/model/ipc/shared_event.hpp"
#include "os/spin_lock.hpp"

namespace weir::embedded::model {

class context;
class stream;

// An event of a context. Objects are reused (handle_table.hpp): open() begins a lifetime. An event
// may be destroyed at any time, because waits hold points, not events.
//
// An event shared between processes (CU_EVENT_INTERPROCESS) keeps its state in a shared_event,
// which supplies the point.
//
// Thread safety: all members may be called from any thread.
class event {
 public:
  // With CU_EVENT_INTERPROCESS, returns CUDA_ERROR_OUT_OF_MEMORY if the shared table is full.
  // Throws std::bad_alloc.
  abi::CUresult open(context& owner_context, unsigned flags);
  // Opens an event of another process. Throws std::bad_alloc.
  abi::CUresult open(context& owner_context, const abi::CUipcEventHandle& handle);
  void close() noexcept;

  // Ends the event together with its context. The object stays, as an event of `dead_context`.
  void end(context& dead_context) noexcept;

  // cuEventDestroy, for an event that was found by `handle`.
  static abi::CUresult destroy(event& found, const void* handle) noexcept;

  // Gets the handle by which another process opens the event. Returns CUDA_ERROR_INVALID_HANDLE
  // unless the event was created in this process with CU_EVENT_INTERPROCESS.
  abi::CUresult get_ipc_handle(abi::CUipcEventHandle& out) const noexcept;

  // Records the stream's current point, replacing the last one.
  abi::CUresult record(stream& target_stream);

  // Like record(), but as part of a larger submission, such as a graph launch. Throws
  // std::bad_alloc.
  void record_in(engine::timeline::submission& pending);

  // Returns CUDA_SUCCESS, CUDA_ERROR_NOT_READY, or the error that the device failed with. An event
  // that was never recorded is complete.
  [[nodiscard]] abi::CUresult query() const;
  [[nodiscard]] abi::CUresult synchronize() const;

  // Returns the point that a wait enqueued now waits for. Throws std::bad_alloc.
  [[nodiscard]] engine::point recorded_point() const;

  // Returns true if the event was recorded outside of captures.
  [[nodiscard]] bool recorded() const noexcept;

  // Returns the ID of the capture that the event was last recorded in (capture.hpp); 0 if its last
  // record was outside of captures.
  [[nodiscard]] unsigned long long capture_id() const noexcept {
    return capture_id_.load(std::memory_order_acquire);
  }
  void set_capture_id(unsigned long long id) noexcept {
    capture_id_.store(id, std::memory_order_release);
  }

  // Gets the milliseconds from `start` to `end`. Checks in the order of cuEventElapsedTime.
  static abi::CUresult elapsed(const event& start, const event& end, float& milliseconds) noexcept;

  [[nodiscard]] context& owner() const noexcept {
    return *context_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] unsigned flags() const noexcept { return flags_; }
  [[nodiscard]] bool timed() const noexcept { return (flags_ & abi::CU_EVENT_DISABLE_TIMING) == 0; }
  [[nodiscard]] bool shared() const noexcept { return (flags_ & abi::CU_EVENT_INTERPROCESS) != 0; }

 private:
  // The last record. Without a record, its point counts as reached.
  struct latest_record {
    engine::point end_point;
    std::uint64_t number;
    bool recorded;
    std::int64_t host_ns;  // the time if the stream was idle, so that the host recorded it, else 0
  };
  // Written by the stream when it reaches the record. Times are those of the steady clock.
  struct completion_time {
    std::uint64_t number;
    std::int64_t ns;
  };
  struct write_timestamp;
  void begin_lifetime(context& owner_context, unsigned flags) noexcept;
  // Stores the last record. Requires record_lock_.
  void store_latest(engine::point recorded, std::uint64_t number, std::int64_t host_ns) noexcept;
  // Gives the record the next number and stores it. Locks record_lock_.
  void store_latest_with_next_number(engine::point recorded) noexcept;

  std::atomic<context*> context_{nullptr};
  unsigned flags_ = 0;
  bool ended_ = false;  // together with its context; read by the thread that retires the handle
  std::unique_ptr<shared_event> shared_;  // created in the first lifetime that needs it
  std::atomic<unsigned long long> capture_id_{0};
  engine::biased_lock record_lock_;  // guards changes of the members below
  engine::seqlock<latest_record> latest_;
  std::uint64_t last_number_ = 0;  // counts the records that began in all lifetimes
  // Guards changes of completion_time_. Taken by the threads that run operations.
  weir::os::spin_lock completion_time_lock_;
  engine::seqlock<completion_time> completion_time_;
};

}  // namespace weir::embedded::model
