// model/shared_event.cpp - taking tickets, completing them, and following those of other processes.
#include "embedded/model/ipc/shared_event.hpp"

#include <unistd.h>

#include "embedded/engine/timeline.hpp"

namespace weir::embedded::model {

using namespace abi;
using engine::point;
using engine::timeline;

namespace {

struct complete_ticket {
  event_place* place;
  std::uint32_t ticket;

  void run() const noexcept { place->complete_up_to(ticket); }
};

// Looks whether a ticket is complete, and now and then whether the process is still there that took it: the place names
// another one, perhaps this, when the event was recorded again.
struct follow_ticket {
  event_place* place;
  event_ticket ticket;
  std::uint32_t looks;

  bool run() noexcept {
    constexpr std::uint32_t seldom = 64;
    if (place->complete(ticket.number)) return true;
    if (++looks % seldom != 0 || !has_ended(ticket.process)) return false;
    place->complete_up_to(ticket.number);
    return true;
  }
};

}  // namespace

void shared_event::begin(event_place& place, const ipc_name& name, bool made_here) noexcept {
  const std::lock_guard lock{mutex_};
  place_ = &place;
  name_ = name;
  made_here_ = made_here;
  knows_one_ = false;
  followed_on_ = nullptr;
}

CUresult shared_event::make() {
  event_board* board = event_board::own();
  event_place* place = board != nullptr ? board->claim() : nullptr;
  if (place == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  ipc_name name;
  name.kind = ipc_kind::event;
  name.process = getpid();
  name.fd = event_board::own_descriptor();
  name.identity = board->identity;
  name.id = place->id.load(std::memory_order_relaxed);
  name.number = board->number_of(*place);
  begin(*place, name, true);
  return CUDA_SUCCESS;
}

CUresult shared_event::open(const CUipcEventHandle& handle) {
  ipc_name name;
  if (!name.read(handle, ipc_kind::event)) return CUDA_ERROR_MAP_FAILED;
  if (name.process == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  event_board* board = event_board::of(name.process, name.fd, name.identity);
  const auto number = static_cast<std::size_t>(name.number);
  if (number >= event_board::capacity) return CUDA_ERROR_MAP_FAILED;
  if (board == nullptr) return has_ended(name.process) ? open_orphan() : CUDA_ERROR_MAP_FAILED;
  event_place* const place = name.id != 0 ? board->enter(number, name.id) : nullptr;
  if (place == nullptr) return CUDA_ERROR_MAP_FAILED;
  begin(*place, name, false);
  return CUDA_SUCCESS;
}

// The event of a process that has ended can be opened, as on a GPU. Its records went with the process: it begins anew, for
// this process alone.
CUresult shared_event::open_orphan() {
  const CUresult status = make();
  if (status == CUDA_SUCCESS) made_here_ = false;
  return status;
}

// Others may wait for the ticket from the moment that it is taken: nothing fails from there on. Nor does anybody complete it with a
// later one, who waits for it.
point shared_event::record_in(timeline::submission& to) {
  to.make_room();
  const std::lock_guard lock{mutex_};
  const event_ticket before = place_->take_ticket(getpid());
  const std::uint32_t ticket = before.number + 1;
  if (knows_one_ && known_ == before.number) {
    to.add_wait(known_at_);
  } else if (!place_->complete(before.number)) {
    to.add(engine::make_operation(follow_ticket{place_, before, 0}, engine::operation_kind::wait_value, true));
  }
  if (to.end().reached()) {
    place_->complete_up_to(ticket);
  } else {
    to.add(engine::make_operation(complete_ticket{place_, ticket}, engine::operation_kind::work, true));
  }
  know(ticket, to.end());
  return to.end();
}

void shared_event::know(std::uint32_t ticket, point at) noexcept {
  known_ = ticket;
  known_at_ = at;
  knows_one_ = true;
}

bool shared_event::recorded() const noexcept {
  return place_->last.load(std::memory_order_acquire).number != place_->first.load(std::memory_order_relaxed);
}

bool shared_event::complete() const noexcept {
  const event_ticket last = place_->last.load(std::memory_order_acquire);
  return place_->complete(last.number) || has_ended(last.process);
}

// Those whose points only others know are followed one behind the other. That never holds up the wrong one, for the lock is
// held from where the ticket is known: each is behind older ones only.
point shared_event::latest() {
  const std::lock_guard lock{mutex_};
  const event_ticket last = place_->last.load(std::memory_order_acquire);
  if (knows_one_ && known_ == last.number) return known_at_;
  if (place_->complete(last.number)) return {};
  if (followed_on_ == nullptr) followed_on_ = &timeline::acquire();
  timeline::submission to{*followed_on_};
  to.add(engine::make_operation(follow_ticket{place_, last, 0}, engine::operation_kind::wait_value, true));
  know(last.number, to.end());
  return known_at_;
}

void shared_event::end() noexcept {
  if (followed_on_ != nullptr) followed_on_->release_when_drained();
  event_board::leave(*place_);
}

}  // namespace weir::embedded::model
