// model/shared_event.cpp - taking tickets, completing them, and following those of other processes.
#include "embedded/model/shared_event.hpp"

#include <unistd.h>

#include "embedded/engine/timeline.hpp"

namespace weir::embedded::model {

using namespace abi;
using engine::point;
using engine::timeline;

namespace {

// Is a ticket newer than another? They wrap around.
bool newer(std::uint32_t ticket, std::uint32_t than) noexcept { return static_cast<std::int32_t>(ticket - than) > 0; }

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

shared_event::begun_record shared_event::begin_record() {
  const std::lock_guard lock{mutex_};
  const event_ticket before = place_->take_ticket(getpid());
  const std::uint32_t ticket = before.number + 1;
  try {
    return {ticket, point_of(before),
            engine::make_operation(complete_ticket{place_, ticket}, engine::operation_kind::work, true)};
  } catch (...) {
    place_->complete_up_to(ticket);
    throw;
  }
}

void shared_event::took(std::uint32_t ticket, point at) noexcept {
  const std::lock_guard lock{mutex_};
  if (!knows_one_ || !newer(known_, ticket)) know(ticket, at);
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

point shared_event::latest() {
  const std::lock_guard lock{mutex_};
  return point_of(place_->last.load(std::memory_order_acquire));
}

// The point of the last ticket, or of the last one before ours. Those whose points only others know are followed one behind
// the other. That never holds up the wrong one, for the lock is held from where the ticket is known: each is behind older
// ones only.
point shared_event::point_of(event_ticket ticket) {
  if (knows_one_ && known_ == ticket.number) return known_at_;
  if (place_->complete(ticket.number)) return {};
  if (followed_on_ == nullptr) followed_on_ = &timeline::acquire();
  timeline::submission to{*followed_on_};
  to.add(engine::make_operation(follow_ticket{place_, ticket, 0}, engine::operation_kind::wait_value, true));
  know(ticket.number, to.end());
  return known_at_;
}

void shared_event::end() noexcept {
  if (followed_on_ != nullptr) followed_on_->release_when_drained();
  event_board::leave(*place_);
}

}  // namespace weir::embedded::model
