// model/event.hpp - an event: the point in a stream's work that it was last recorded at.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "driver/abi.hpp"
#include "embedded/engine/biased_lock.hpp"
#include "embedded/engine/operation.hpp"
#include "embedded/engine/seqlock.hpp"
#include "embedded/engine/spin_lock.hpp"
#include "embedded/engine/timeline.hpp"
#include "embedded/model/ipc/shared_event.hpp"

namespace weir::embedded::model {

class context;
class stream;

// An event of a context. Objects are reused (handle_table.hpp): open() begins a life.
// Destroying one needs no care: waits hold points, not events.
//
// One of several processes (CU_EVENT_INTERPROCESS) has its state in a shared_event, which tells the
// point.
//
// Thread safety: all members, from any thread.
class event {
 public:
  // With CU_EVENT_INTERPROCESS: CUDA_ERROR_OUT_OF_MEMORY where there is no place for it. Throws
  // std::bad_alloc.
  abi::CUresult open(context& in, unsigned flags);
  // Opens the event of another process. Throws std::bad_alloc.
  abi::CUresult open(context& in, const abi::CUipcEventHandle& handle);
  void close() noexcept;

  // Ends with its context: the object stays, as an event of `of`, which is not alive.
  void end(context& of) noexcept;

  // cuEventDestroy, of one that was found by that handle.
  static abi::CUresult destroy(event& found, const void* handle) noexcept;

  // What another process opens it by. CUDA_ERROR_INVALID_HANDLE for an event that was not made for
  // that, and made here.
  abi::CUresult get_ipc_handle(abi::CUipcEventHandle& out) const noexcept;

  // Takes the stream's present point in place of the last one.
  abi::CUresult record(stream& on);

  // The same for a record that is part of something larger (a launched graph). Throws
  // std::bad_alloc.
  void record_in(engine::timeline::submission& to);

  // CUDA_SUCCESS, CUDA_ERROR_NOT_READY, or what the device failed with. One that was never recorded
  // is complete.
  [[nodiscard]] abi::CUresult query() const;
  [[nodiscard]] abi::CUresult synchronize() const;

  // What a wait made now waits for. Throws std::bad_alloc.
  [[nodiscard]] engine::point recorded_point() const;

  // Has it been recorded outside of captures?
  [[nodiscard]] bool recorded() const noexcept;

  // The capture that it was last recorded in (capture.hpp); 0 where that was outside of captures.
  [[nodiscard]] unsigned long long capture_id() const noexcept {
    return capture_id_.load(std::memory_order_acquire);
  }
  void set_capture_id(unsigned long long id) noexcept {
    capture_id_.store(id, std::memory_order_release);
  }

  // Milliseconds from `from` to `to`; the driver's order of complaints is that of
  // cuEventElapsedTime.
  static abi::CUresult elapsed(const event& from, const event& to, float& milliseconds) noexcept;

  [[nodiscard]] context& owner() const noexcept {
    return *context_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] unsigned flags() const noexcept { return flags_; }
  [[nodiscard]] bool timed() const noexcept { return (flags_ & abi::CU_EVENT_DISABLE_TIMING) == 0; }
  [[nodiscard]] bool shared() const noexcept { return (flags_ & abi::CU_EVENT_INTERPROCESS) != 0; }

 private:
  // The last record. Without one its point is reached.
  struct latest_record {
    engine::point at;
    std::uint64_t number;
    bool recorded;
    bool timed_on_host;  // at once, because nothing was before it
    std::int64_t ns;     // when that was
  };
  // What the stream notes when it gets there. Times are those of the steady clock.
  struct completion_time {
    std::uint64_t number;
    std::int64_t ns;
  };
  struct write_timestamp;
  void begin(context& in, unsigned flags) noexcept;
  void set_latest(engine::point at, std::uint64_t number,
                  std::int64_t host_ns) noexcept;  // while record_lock_
  void set_next_latest(engine::point at) noexcept;

  std::atomic<context*> context_{nullptr};
  unsigned flags_ = 0;
  bool ended_ = false;                    // with its context; for whoever has retired its handle
  std::unique_ptr<shared_event> shared_;  // made for the first life that needs it, and kept
  std::atomic<unsigned long long> capture_id_{0};
  engine::biased_lock record_lock_;  // guards changes of what follows
  engine::seqlock<latest_record> latest_;
  std::uint64_t last_number_ = 0;  // of all records that were begun, in all lives
  engine::spin_lock
      completion_time_lock_;  // guards changes of what follows; for the threads that run operations
  engine::seqlock<completion_time> completion_time_;
};

}  // namespace weir::embedded::model
