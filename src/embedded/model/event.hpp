// model/event.hpp - an event: the point in a stream's work that it was last recorded at.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "driver/abi.hpp"
#include "embedded/engine/operation.hpp"
#include "embedded/engine/spin_lock.hpp"
#include "embedded/model/shared_event.hpp"

namespace weir::embedded::model {

class context;
class stream;

// An event of a context. Objects are reused (handle_table.hpp): open() begins a life.
// Destroying one needs no care: waits hold points, not events.
//
// One of several processes (CU_EVENT_INTERPROCESS) has its state in a shared_event, which tells the point.
//
// Thread safety: all members, from any thread.
class event {
 public:
  // With CU_EVENT_INTERPROCESS: CUDA_ERROR_OUT_OF_MEMORY where there is no place for it. Throws std::bad_alloc.
  abi::CUresult open(context& in, unsigned flags);
  // Opens the event of another process. Throws std::bad_alloc.
  abi::CUresult open(context& in, const abi::CUipcEventHandle& handle);
  void close() noexcept;

  // Ends with its context: the object stays, as an event of `of`, which is not alive.
  void end(context& of) noexcept;

  // What another process opens it by. CUDA_ERROR_INVALID_HANDLE for an event that was not made for that, and
  // made here.
  abi::CUresult tell(abi::CUipcEventHandle& out) const noexcept;

  // Takes the stream's present point in place of the last one.
  abi::CUresult record(stream& on);

  // The same for a record that is part of something larger (a launched graph): the point, and for an event that is timed
  // or of several processes the operation that goes right before it and notes the time or completes the ticket.
  [[nodiscard]] bool has_stamp() const noexcept { return timed() || shared(); }
  [[nodiscard]] engine::operation stamp_for_next_record() noexcept;
  void record_at(engine::point at) noexcept;

  // CUDA_SUCCESS, CUDA_ERROR_NOT_READY, or what the device failed with. One that was never recorded is complete.
  [[nodiscard]] abi::CUresult query() const;
  [[nodiscard]] abi::CUresult synchronize() const;

  // What a wait made now waits for. Throws std::bad_alloc.
  [[nodiscard]] engine::point recorded_point() const;

  // Has it been recorded outside of captures?
  [[nodiscard]] bool recorded() const noexcept;

  // The capture that it was last recorded in (capture.hpp); 0 where that was outside of captures.
  [[nodiscard]] unsigned long long capture_id() const noexcept { return capture_id_.load(std::memory_order_acquire); }
  void set_capture_id(unsigned long long id) noexcept { capture_id_.store(id, std::memory_order_release); }

  // Milliseconds from `from` to `to`; the driver's order of complaints is that of cuEventElapsedTime.
  static abi::CUresult elapsed(const event& from, const event& to, float& milliseconds) noexcept;

  [[nodiscard]] context& owner() const noexcept { return *context_.load(std::memory_order_relaxed); }
  [[nodiscard]] unsigned flags() const noexcept { return flags_; }
  [[nodiscard]] bool timed() const noexcept { return (flags_ & abi::CU_EVENT_DISABLE_TIMING) == 0; }
  [[nodiscard]] bool shared() const noexcept { return (flags_ & abi::CU_EVENT_INTERPROCESS) != 0; }

 private:
  struct stamp;
  void begin(context& in, unsigned flags) noexcept;
  void take(engine::point at) noexcept;  // with the lock held
  abi::CUresult record_shared(stream& on);

  std::atomic<context*> context_{nullptr};
  unsigned flags_ = 0;
  std::unique_ptr<shared_event> shared_;  // made for the first life that needs it, and kept
  std::atomic<unsigned long long> capture_id_{0};
  mutable engine::spin_lock mutex_;  // guards what follows
  engine::point point_;
  bool recorded_ = false;
  std::uint32_t ticket_ = 0;         // of the last record that a larger one has begun
  std::uint64_t record_number_ = 0;  // a stamp of an earlier record, or of an earlier life, knows by it that it is late
  std::int64_t stamp_ns_ = 0;        // when the recorded point was reached, by the steady clock
};

}  // namespace weir::embedded::model
