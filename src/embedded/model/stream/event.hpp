// SPDX-License-Identifier: Apache-2.0
// model/stream/event.hpp - an event: refers to the point in a stream's work at which it was last
// recorded.
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

// An event of a context. Its last record is a point, a position in the timeline of the recording
// stream. Objects are reused (handle_table.hpp): open() begins a lifetime. An event may be
// destroyed at any time, because work that waits for an event stores the event's point, not the
// event.
//
// An event shared between processes (CU_EVENT_INTERPROCESS) keeps its state in a shared_event,
// which supplies the point.
//
// Thread safety: all members may be called from any thread.
class event {
 public:
  // Begins a lifetime. With CU_EVENT_INTERPROCESS, returns CUDA_ERROR_OUT_OF_MEMORY if the table of
  // shared events is full. Throws std::bad_alloc.
  abi::CUresult open(context& owner_context, unsigned flags);
  // Begins a lifetime as an event of another process, named by `handle`. Throws std::bad_alloc.
  abi::CUresult open(context& owner_context, const abi::CUipcEventHandle& handle);
  void close() noexcept;

  // Ends the event together with its context. The object then belongs to `dead_context`. Its handle
  // stays valid; calls with it return that context's error.
  void end(context& dead_context) noexcept;

  // cuEventDestroy, for an event that was found by `handle`.
  static abi::CUresult destroy(event& found, const void* handle) noexcept;

  // Gets the handle by which another process opens the event. Returns CUDA_ERROR_INVALID_HANDLE
  // unless the event was created in this process with CU_EVENT_INTERPROCESS.
  abi::CUresult get_ipc_handle(abi::CUipcEventHandle& out) const noexcept;

  // Records the end of the work submitted to the stream so far. Replaces the last record. Returns
  // CUDA_ERROR_INVALID_HANDLE for a stream of another context.
  abi::CUresult record(stream& target_stream);

  // Like record(), but as part of a submission that the caller has begun, such as a graph launch.
  // Does not check the context. Throws std::bad_alloc.
  void record_in(engine::timeline::submission& pending);

  // Returns CUDA_SUCCESS if the last record is complete, or if the event was never recorded.
  // Otherwise returns CUDA_ERROR_NOT_READY.
  [[nodiscard]] abi::CUresult query() const;
  // Waits for the last record. Returns CUDA_SUCCESS, or the error that the device failed with.
  [[nodiscard]] abi::CUresult synchronize() const;

  // Returns the point of the last record. A wait for the event that is enqueued now waits for this
  // point, whatever is recorded afterwards. Throws std::bad_alloc.
  [[nodiscard]] engine::point recorded_point() const;

  // Returns true if the event was ever recorded outside of captures.
  [[nodiscard]] bool recorded() const noexcept;

  // Returns the ID of the capture that the event was last recorded in (capture.hpp); 0 if its last
  // record was outside of captures.
  [[nodiscard]] unsigned long long capture_id() const noexcept {
    return capture_id_.load(std::memory_order_acquire);
  }
  void set_capture_id(unsigned long long id) noexcept {
    capture_id_.store(id, std::memory_order_release);
  }

  // Gets the milliseconds from `start` to `end`. Checks both events in the order of NVIDIA's
  // cuEventElapsedTime, so that it returns the same error if several apply.
  static abi::CUresult elapsed(const event& start, const event& end, float& milliseconds) noexcept;

  [[nodiscard]] context& owner() const noexcept {
    return *context_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] unsigned flags() const noexcept { return flags_; }
  [[nodiscard]] bool timed() const noexcept { return (flags_ & abi::CU_EVENT_DISABLE_TIMING) == 0; }
  [[nodiscard]] bool shared() const noexcept { return (flags_ & abi::CU_EVENT_INTERPROCESS) != 0; }

 private:
  // The last record. `end_point` is no point, which counts as reached, if the event was never
  // recorded.
  struct latest_record {
    engine::point end_point;
    std::uint64_t number;  // the value of last_number_ that the record got
    bool recorded;         // false if no record was made in this lifetime
    // The time of the record if the stream was idle, so that the recording thread read the clock.
    // Otherwise 0; the time is then in completion_time_.
    std::int64_t host_ns;
  };
  // The time at which a stream reached a record, on the steady clock, and the number of that
  // record.
  struct completion_time {
    std::uint64_t number;
    std::int64_t ns;
  };
  struct write_timestamp;
  void begin_lifetime(context& owner_context, unsigned flags) noexcept;
  // Stores a record that ends at the point, with the next number. The caller holds record_lock_.
  void store_latest(engine::point recorded, std::int64_t host_ns) noexcept;
  // Like store_latest(), for an event without timing. Locks record_lock_.
  void store_untimed(engine::point recorded) noexcept;

  std::atomic<context*> context_{nullptr};
  unsigned flags_ = 0;
  bool ended_ = false;  // true after end(); read only by the thread that retires the handle
  std::unique_ptr<shared_event> shared_;  // created in the first lifetime that needs it
  std::atomic<unsigned long long> capture_id_{0};
  engine::biased_lock record_lock_;  // guards changes of the members below
  engine::seqlock<latest_record> latest_;
  std::uint64_t last_number_ = 0;  // counts the records of all lifetimes, and their beginnings
  // Guards changes of completion_time_. Taken by the threads that run operations, which would
  // revoke the bias of record_lock_.
  weir::os::spin_lock completion_time_lock_;
  engine::seqlock<completion_time> completion_time_;
};

}  // namespace weir::embedded::model
