// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/shared_event.cpp - takes and completes tickets (the numbers of an event's
// records), and waits for tickets of other processes.
#include "embedded/model/ipc/shared_event.hpp"

#include <unistd.h>

#include "embedded/engine/timeline.hpp"

namespace weir::embedded::model {

using namespace abi;
using engine::point;
using engine::timeline;

namespace {

// The operation that marks a record's ticket as complete in the event's slot, for all processes.
// The stream of the record runs it when the work before the record is complete.
struct complete_ticket {
  shared_event_slot* slot;
  std::uint32_t ticket;

  void run() const noexcept { slot->complete_up_to(ticket); }
};

// The operation that waits until a ticket is complete. run() polls the slot once and returns true
// if the wait is over. Every 64th poll also checks whether the process that took the ticket has
// ended; run() then completes the ticket. The process is stored here, because the slot only has the
// process of the last record.
struct wait_for_ticket {
  shared_event_slot* slot;
  event_ticket ticket;
  std::uint32_t poll_count;

  bool run() noexcept {
    constexpr std::uint32_t polls_per_liveness_check = 64;
    if (slot->complete(ticket.number)) return true;
    if (++poll_count % polls_per_liveness_check != 0 || !has_ended(ticket.process)) return false;
    slot->complete_up_to(ticket.number);
    return true;
  }
};

}  // namespace

void shared_event::begin(shared_event_slot& slot, const ipc_identity& identity) noexcept {
  const std::lock_guard lock{mutex_};
  slot_ = &slot;
  identity_ = identity;
  is_local_ = identity.process == getpid();
  known_record_.reset();
  ticket_timeline_ = nullptr;
}

CUresult shared_event::make() {
  shared_event_table* table = shared_event_table::local_table();
  shared_event_slot* slot = table != nullptr ? table->claim() : nullptr;
  if (slot == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  const ipc_identity identity{.kind = ipc_kind::event,
                              .process = getpid(),
                              .fd = shared_event_table::local_descriptor(),
                              .identity = table->identity,
                              .id = slot->id.load(std::memory_order_relaxed),
                              .number = table->index_of(*slot)};
  begin(*slot, identity);
  return CUDA_SUCCESS;
}

CUresult shared_event::open(const CUipcEventHandle& handle) {
  ipc_identity identity;
  if (!identity.read(handle, ipc_kind::event)) return CUDA_ERROR_MAP_FAILED;
  if (identity.process == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  shared_event_table* table =
      shared_event_table::open(identity.process, identity.fd, identity.identity);
  const auto number = static_cast<std::size_t>(identity.number);
  if (number >= shared_event_table::capacity) return CUDA_ERROR_MAP_FAILED;
  if (table == nullptr) {
    if (!has_ended(identity.process)) return CUDA_ERROR_MAP_FAILED;
    // As on a GPU, the event of an ended process can be opened. The event's records are lost, so
    // this object becomes a new event that only this process uses.
    const CUresult status = make();
    is_local_ = false;
    return status;
  }
  shared_event_slot* const slot =
      identity.id != 0 ? table->open_slot(number, identity.id) : nullptr;
  if (slot == nullptr) return CUDA_ERROR_MAP_FAILED;
  begin(*slot, identity);
  return CUDA_SUCCESS;
}

// Other processes may wait for the ticket as soon as it is taken, so nothing may fail after
// take_ticket(): make_room() has reserved the memory. Completing a ticket also completes all
// earlier ones. That is not too early for this ticket, because later records wait for it.
point shared_event::record_in(timeline::submission& pending_submission) {
  pending_submission.make_room(2);
  const std::lock_guard lock{mutex_};
  const event_ticket before = slot_->take_ticket(getpid());
  const std::uint32_t ticket = before.number + 1;
  if (known_record_ && known_record_->ticket == before.number) {
    pending_submission.add_wait(known_record_->end);
  } else if (!slot_->complete(before.number)) {
    pending_submission.add(engine::make_unconditional_operation(
        wait_for_ticket{slot_, before, 0}, engine::operation_kind::wait_value));
  }
  if (pending_submission.end().reached()) {
    slot_->complete_up_to(ticket);
  } else {
    pending_submission.add(engine::make_unconditional_operation(complete_ticket{slot_, ticket}));
  }
  known_record_ = {ticket, pending_submission.end()};
  return pending_submission.end();
}

bool shared_event::recorded() const noexcept {
  return slot_->last.load(std::memory_order_acquire).number !=
         slot_->first.load(std::memory_order_relaxed);
}

bool shared_event::complete() const noexcept {
  const event_ticket last = slot_->last.load(std::memory_order_acquire);
  return slot_->complete(last.number) || has_ended(last.process);
}

// If another process made the last record, adds an operation to ticket_timeline_ that waits for the
// record's ticket. The end of that operation is the record's point. mutex_ is held from reading the
// ticket on, so the waits in that timeline are in the order of the tickets.
point shared_event::latest() {
  const std::lock_guard lock{mutex_};
  const event_ticket last = slot_->last.load(std::memory_order_acquire);
  if (known_record_ && known_record_->ticket == last.number) return known_record_->end;
  if (slot_->complete(last.number)) return {};
  if (ticket_timeline_ == nullptr) ticket_timeline_ = &timeline::acquire();
  timeline::submission pending_submission{*ticket_timeline_};
  pending_submission.add(engine::make_unconditional_operation(wait_for_ticket{slot_, last, 0},
                                                              engine::operation_kind::wait_value));
  known_record_ = {last.number, pending_submission.end()};
  return pending_submission.end();
}

void shared_event::end() noexcept {
  if (ticket_timeline_ != nullptr) ticket_timeline_->release_when_drained();
  shared_event_table::release_slot(*slot_);
}

}  // namespace weir::embedded::model
