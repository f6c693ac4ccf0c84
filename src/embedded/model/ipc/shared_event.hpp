// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/shared_event.hpp - the state of an event that is shared between processes.
#pragma once

#include <cstdint>
#include <mutex>

#include "driver/abi.hpp"
#include "embedded/engine/operation.hpp"
#include "embedded/engine/timeline.hpp"
#include "embedded/model/ipc/ipc_handle.hpp"
#include "embedded/model/ipc/shared_event_table.hpp"

namespace weir::embedded::model {

// A shared event, created or opened in this process. The last record of another process is
// represented by a point of this process, in a timeline whose work waits for the record's ticket.
// Waits for events therefore do not depend on processes.
//
// If a process ends before its record is complete, the record counts as complete.
//
// Objects are reused: make() or open() begins a lifetime, end() ends it. Thread safety: all other
// members may be called from any thread.
class shared_event {
 public:
  // Creates an event of this process. Returns CUDA_ERROR_OUT_OF_MEMORY if the table is full.
  abi::CUresult make();

  // Opens an event of another process by its handle. Returns the driver's error if there is none.
  // Throws std::bad_alloc.
  abi::CUresult open(const abi::CUipcEventHandle& handle);

  // Ends the lifetime of this object.
  void end() noexcept;

  // Writes the handle by which another process opens it.
  void get_ipc_handle(abi::CUipcEventHandle& out) const noexcept { identity_.write(out); }
  [[nodiscard]] bool is_local() const noexcept { return is_local_; }

  // Records the event after everything in the submission. The record takes the next ticket when its
  // place in the stream is decided, waits for the record before it, and completes its ticket.
  // Records thus complete in ticket order across streams. Returns the point at which it is
  // complete. Throws std::bad_alloc without recording.
  engine::point record_in(engine::timeline::submission& pending_submission);

  // Returns true if any process has recorded it since it was made.
  [[nodiscard]] bool recorded() const noexcept;

  // Returns true if the last record of any process is complete.
  [[nodiscard]] bool complete() const noexcept;

  // Returns the point of the last record. Throws std::bad_alloc.
  [[nodiscard]] engine::point latest();

 private:
  abi::CUresult open_after_exit();
  void begin(shared_event_slot& slot, const ipc_identity& identity) noexcept;
  void set_known_point(std::uint32_t ticket, engine::point end_point) noexcept;  // requires mutex_

  shared_event_slot* slot_ = nullptr;
  ipc_identity identity_;
  bool is_local_ = false;
  std::mutex mutex_;                // guards the members below
  std::uint32_t known_ticket_ = 0;  // the last ticket whose point is known here
  engine::point known_point_;
  bool has_known_point_ = false;
  // Waits for tickets whose points are not known, in their order.
  engine::timeline* ticket_timeline_ = nullptr;
};

}  // namespace weir::embedded::model
