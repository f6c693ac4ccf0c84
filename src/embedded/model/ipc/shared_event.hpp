// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/shared_event.hpp - the state of an event that is shared between processes.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "driver/abi.hpp"
#include "embedded/engine/operation.hpp"
#include "embedded/engine/timeline.hpp"
#include "embedded/model/ipc/ipc_handle.hpp"
#include "embedded/model/ipc/shared_event_table.hpp"

namespace weir::embedded::model {

// A shared event, created or opened in this process. Its state lies in shared memory, in a slot
// (shared_event_table.hpp).
//
// Each record of the event, in any process, takes a ticket: the next number of the slot. A ticket
// is complete when the work before its record is complete.
//
// A point is a position in a timeline, the engine's queue of operations that run in order. This
// process represents a record of another process by a point of its own: the end of an operation
// that waits until the ticket is complete. Streams wait for that point like for a record of this
// process.
//
// If a process ends before its record is complete, the record counts as complete, so that no other
// process waits forever.
//
// Objects are reused: make() or open() begins a lifetime, end() ends it. Thread safety: all other
// members may be called from any thread.
class shared_event {
 public:
  // Creates an event of this process. Returns CUDA_ERROR_OUT_OF_MEMORY if the process's table of
  // shared events is full or cannot be created.
  abi::CUresult make();

  // Opens an event of another process by its handle. Returns CUDA_ERROR_MAP_FAILED if the handle
  // refers to no event, and CUDA_ERROR_INVALID_CONTEXT for an event of this process. Throws
  // std::bad_alloc.
  abi::CUresult open(const abi::CUipcEventHandle& handle);

  // Ends the lifetime of this object.
  void end() noexcept;

  // Writes the handle by which another process opens the event.
  void get_ipc_handle(abi::CUipcEventHandle& out) const noexcept { identity_.write(out); }
  [[nodiscard]] bool is_local() const noexcept { return is_local_; }

  // Records the event after all operations of `pending_submission`, which adds operations to a
  // timeline. Takes the next ticket, and adds operations that wait for the previous ticket and then
  // complete the new one. Records thus complete in the order of their tickets, across streams and
  // processes. Returns the point at which the record is complete. Throws std::bad_alloc without
  // recording.
  engine::point record_in(engine::timeline::submission& pending_submission);

  // Returns true if any process has recorded the event since it was made.
  [[nodiscard]] bool recorded() const noexcept;

  // Returns true if the event's last record, made by whichever process, is complete or can never
  // become complete because its process has ended.
  [[nodiscard]] bool complete() const noexcept;

  // Returns the point at which the event's last record is complete. Returns a null point if the
  // record is already complete and this process has no point for it. Throws std::bad_alloc.
  [[nodiscard]] engine::point latest();

 private:
  // A record of the event, and the point of this process at which the record is complete.
  struct known_record {
    std::uint32_t ticket;
    engine::point end;
  };
  void begin(shared_event_slot& slot, const ipc_identity& identity) noexcept;

  shared_event_slot* slot_ = nullptr;  // the event's state in shared memory
  ipc_identity identity_;
  bool is_local_ = false;
  std::mutex mutex_;                          // guards the members below
  std::optional<known_record> known_record_;  // the last record whose point is known here
  // The timeline whose operations wait for the tickets of other processes, in the order of the
  // tickets. Null until first needed.
  engine::timeline* ticket_timeline_ = nullptr;
};

}  // namespace weir::embedded::model
