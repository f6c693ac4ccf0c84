// api/completion/joint_wait.cpp - waits for one or several points, with an end by time or by request.
#include <weir/detail/joint_wait.hpp>

#include "api/completion/completion_access.hpp"
#include "os/clock.hpp"
#include "reactor/reactor.hpp"
#include "reactor/waiter_list.hpp"

namespace weir::detail {
namespace {

constexpr unsigned begun = 1;

}  // namespace

void joint_wait::set(joint_point& at, const completion& c) noexcept {
  at.where = completion_access::where(c);
  at.ticket = completion_access::ticket(c);
}

bool joint_wait::over_already(std::span<joint_point> points) noexcept {
  std::size_t settled = 0;
  for (joint_point& one : points) {
    one.outcome = one.where == nullptr ? errc::success : ask_outcome(*one.where, one.ticket);
    if (one.outcome == errc::not_ready) continue;
    if (settled++ == 0) first_ = static_cast<std::size_t>(&one - points.data());
  }
  if (settled >= (many_ == enough::all ? points.size() : 1)) {
    static_cast<void>(end(joint_end::done, first_));
  } else if (stopped_before_) {
    static_cast<void>(end(joint_end::stopped, 0));
  } else if (limit_ <= 0) {
    static_cast<void>(end(joint_end::late, 0));
  }
  return how() != joint_end::pending;
}

// Whoever has its say meanwhile takes nothing back, as not all have begun: that is then done here.
bool joint_wait::begin(std::span<joint_point> points, std::coroutine_handle<> awaiting) {
  points_ = points;
  awaiting_ = awaiting;
  for (joint_point& one : points) {
    one.told = &point_told;
    one.by = teller::loop;
    one.of = this;
    if (one.where == nullptr) continue;
    clock_ = &one.where->home();
    clock_->start_thread();
  }
  const bool limited = limit_ != forever;
  needed_.store(many_ == enough::all ? points.size() : 1);
  parties_.store(1 + points.size() + (limited ? 1 : 0));
  if (limited) {
    timer_.expired = &time_passed;
    timer_.of = this;
    clock_->add_timer(timer_, deadline_after(limit_));
  }
  std::size_t gone = 1;
  for (joint_point& one : points) {
    if (one.where != nullptr && add_waiter(*one.where, one.ticket, one)) continue;
    gone += 1 + settle_one(one);
  }
  if (state_.fetch_or(begun) >> 1U != 0) gone += take_back_all();
  return !was_last(gone);
}

std::size_t joint_wait::settle_one(const joint_point& which) noexcept {
  if (needed_.fetch_sub(1) != 1) return 0;
  return end(joint_end::done, static_cast<std::size_t>(&which - points_.data()));
}

std::size_t joint_wait::end(joint_end how, std::size_t first) noexcept {
  unsigned now = state_.load();
  do {
    if (now >> 1U != 0) return 0;
  } while (!state_.compare_exchange_weak(now, now | static_cast<unsigned>(how) << 1U));
  if (how == joint_end::done) first_ = first;
  return (now & begun) != 0 ? take_back_all() : 0;
}

std::size_t joint_wait::take_back_all() noexcept {
  std::size_t gone = 0;
  for (joint_point& one : points_) {
    if (one.where == nullptr || !take_back(*one.where, one)) continue;
    one.outcome = errc::not_ready;
    ++gone;
  }
  if (limit_ != forever && clock_->remove_timer(timer_)) ++gone;
  return gone;
}

bool joint_wait::was_last(std::size_t parties) noexcept {
  return parties_.fetch_sub(parties, std::memory_order_acq_rel) == parties;
}

// On a thread that may run the program's code.
void joint_wait::point_told(completion_waiter& self, errc) noexcept {
  const auto& told = static_cast<joint_point&>(self);
  joint_wait& me = *told.of;
  if (me.was_last(1 + me.settle_one(told))) me.awaiting_.resume();
}

// On any thread, as is stop().
void joint_wait::time_passed(wait_timer& self) noexcept {
  joint_wait& me = *static_cast<limit_timer&>(self).of;
  if (me.was_last(1 + me.end(joint_end::late, 0))) me.resume_elsewhere();
}

void joint_wait::stop() noexcept {
  const std::size_t gone = end(joint_end::stopped, 0);
  if (gone != 0 && was_last(gone)) resume_elsewhere();
}

// One of the points, which nobody needs any more, takes the news to where it would have been told.
void joint_wait::resume_elsewhere() noexcept {
  joint_point* messenger = nullptr;
  for (joint_point& one : points_) {
    if (one.where != nullptr && (messenger == nullptr || one.loop != nullptr)) messenger = &one;
  }
  messenger->told = &resume;
  waiter_list news;
  news.append(*messenger);
  clock_->deliver(news, callers::any);
}

void joint_wait::resume(completion_waiter& self, errc) noexcept {
  static_cast<joint_point&>(self).of->awaiting_.resume();
}

void joint_wait::throw_failure(std::span<const joint_point> points, call_site at) const {
  for (const joint_point& one : points) {
    if (one.outcome != errc::not_ready) throw_outcome(one.where, one.ticket, one.outcome, "co_await", at);
  }
}

}  // namespace weir::detail
