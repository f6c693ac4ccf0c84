// model/shared_event.cpp - taking tickets, completing them, and following those of other processes.
#include "embedded/model/shared_event.hpp"

#include <unistd.h>

#include <mutex>

#include "embedded/engine/timeline.hpp"

namespace weir::embedded::model {

using namespace abi;
using engine::point;
using engine::timeline;

namespace {

// Is a ticket newer than another? They wrap around.
bool newer(std::uint32_t ticket, std::uint32_t than) noexcept { return static_cast<std::int32_t>(ticket - than) > 0; }

// Nobody is left who could complete what was recorded last.
bool abandoned(const event_place& place) noexcept { return has_ended(place.recorder.load(std::memory_order_acquire)); }

struct complete_ticket {
  event_place* place;
  std::uint32_t ticket;

  void run() const noexcept { place->complete_up_to(ticket); }
};

// Looks whether a ticket is complete, and now and then whether the process is still there that took it: the place names
// another one, perhaps this, when the event was recorded again.
struct follow_ticket {
  event_place* place;
  std::uint32_t ticket;
  std::int32_t recorder;
  std::uint32_t looks;

  bool run() noexcept {
    constexpr std::uint32_t seldom = 64;
    if (place->complete(ticket)) return true;
    if (++looks % seldom != 0 || !has_ended(recorder)) return false;
    place->complete_up_to(ticket);
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
  event_place& place = board->places[number];
  if (name.id == 0 || !place.enter(name.id)) return CUDA_ERROR_MAP_FAILED;
  begin(place, name, false);
  return CUDA_SUCCESS;
}

// The event of a process that has ended can be opened, as on a GPU. Its records went with the process: it begins anew, for
// this process alone.
CUresult shared_event::open_orphan() {
  const CUresult status = make();
  if (status == CUDA_SUCCESS) made_here_ = false;
  return status;
}

engine::operation shared_event::begin_record(std::uint32_t& ticket) noexcept {
  place_->recorder.store(getpid(), std::memory_order_release);
  ticket = place_->recorded.fetch_add(1, std::memory_order_acq_rel) + 1;
  return engine::make_operation(complete_ticket{place_, ticket}, engine::operation_kind::work, true);
}

void shared_event::took(std::uint32_t ticket, point at) noexcept {
  const std::lock_guard lock{mutex_};
  if (knows_one_ && newer(known_, ticket)) return;
  known_ = ticket;
  known_at_ = at;
  knows_one_ = true;
}

bool shared_event::recorded() const noexcept {
  return place_->recorded.load(std::memory_order_acquire) != place_->first.load(std::memory_order_relaxed);
}

bool shared_event::complete() const noexcept {
  const std::uint32_t last = place_->recorded.load(std::memory_order_acquire);
  return place_->complete(last) || abandoned(*place_);
}

point shared_event::latest() {
  const std::uint32_t last = place_->recorded.load(std::memory_order_acquire);
  const std::int32_t recorder = place_->recorder.load(std::memory_order_acquire);
  timeline* line = nullptr;
  {
    const std::lock_guard lock{mutex_};
    if (knows_one_ && known_ == last) return known_at_;
    if (place_->complete(last)) return {};
    if (followed_on_ == nullptr) followed_on_ = &timeline::acquire();
    line = followed_on_;
  }
  point at;
  {
    timeline::submission to{*line};
    to.add(engine::make_operation(follow_ticket{place_, last, recorder, 0}, engine::operation_kind::wait_value, true));
    at = to.end();
  }
  took(last, at);
  return at;
}

void shared_event::end() noexcept {
  if (followed_on_ != nullptr) followed_on_->release_when_drained();
  place_->leave();
}

}  // namespace weir::embedded::model
