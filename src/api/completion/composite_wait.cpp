// SPDX-License-Identifier: Apache-2.0
// api/completion/composite_wait.cpp - waits for one or several completions, with a timeout and stop
// requests.
#include <weir/completion/when.hpp>
#include <weir/detail/composite_wait.hpp>

#include "api/completion/completion_access.hpp"
#include "api/core/check.hpp"
#include "os/clock.hpp"
#include "reactor/reactor.hpp"

namespace weir::detail {
namespace {

constexpr unsigned started = 1;

}  // namespace

void composite_wait::set_item(wait_item& item, const completion& c) noexcept {
  item.queue = completion_access::queue(c);
  item.ticket = completion_access::ticket(c);
}

bool composite_wait::try_complete(std::span<wait_item> items) noexcept {
  std::size_t completed = 0;
  for (wait_item& item : items) {
    item.outcome = item.queue == nullptr ? errc::success : query_outcome(*item.queue, item.ticket);
    if (item.outcome == errc::not_ready) continue;
    if (completed++ == 0) first_ = static_cast<std::size_t>(&item - items.data());
  }
  // finish() cancels no callback before start().
  if (completed >= (count_ == wait_count::all ? items.size() : 1)) {
    static_cast<void>(finish(wait_result::done, first_));
  } else if (stop_requested_) {
    static_cast<void>(finish(wait_result::stopped, 0));
  } else if (timeout_ <= 0) {
    static_cast<void>(finish(wait_result::timed_out, 0));
  }
  return result() != wait_result::pending;
}

// Registers all items and the timer. A callback may run before all items are registered and
// `started` is set. Such a callback cancels nothing, and the end of this function cancels the
// remaining items.
bool composite_wait::start(std::span<wait_item> items, std::coroutine_handle<> awaiting) {
  items_ = items;
  awaiting_ = awaiting;
  for (wait_item& item : items) {
    item.on_complete = &on_item_complete;
    item.policy = resume_policy::waiting_thread;
    item.wait = this;
    if (item.queue == nullptr) continue;
    reactor_ = &item.queue->owner();
    reactor_->start_thread();
  }
  const bool has_timeout = timeout_ != forever;
  remaining_.store(count_ == wait_count::all ? items.size() : 1);
  // The 1 stands for this function, so that no callback resumes the coroutine before its end.
  pending_callbacks_.store(1 + items.size() + (has_timeout ? 1 : 0));
  if (has_timeout) {
    timer_.on_expired = &on_timeout;
    timer_.wait = this;
    reactor_->add_timer(timer_, os::deadline_after(timeout_));
  }
  std::size_t finished = 1;
  for (wait_item& item : items) {
    if (item.queue != nullptr && add_waiter(*item.queue, item.ticket, item)) continue;
    finished += 1 + complete_item(item);
  }
  if (state_.fetch_or(started) >> 1U != 0) finished += cancel_all();
  return !finish_callbacks(finished);
}

std::size_t composite_wait::complete_item(const wait_item& item) noexcept {
  if (remaining_.fetch_sub(1) != 1) return 0;
  return finish(wait_result::done, static_cast<std::size_t>(&item - items_.data()));
}

std::size_t composite_wait::finish(wait_result result, std::size_t first) noexcept {
  unsigned now = state_.load();
  do {
    if (now >> 1U != 0) return 0;
  } while (!state_.compare_exchange_weak(now, now | static_cast<unsigned>(result) << 1U));
  if (result == wait_result::done) first_ = first;
  return (now & started) != 0 ? cancel_all() : 0;
}

std::size_t composite_wait::cancel_all() noexcept {
  std::size_t finished = 0;
  for (wait_item& item : items_) {
    if (item.queue == nullptr || !cancel_wait(*item.queue, item)) continue;
    item.outcome = errc::not_ready;
    ++finished;
  }
  if (timeout_ != forever && reactor_->remove_timer(timer_)) ++finished;
  return finished;
}

bool composite_wait::finish_callbacks(std::size_t finished) noexcept {
  return pending_callbacks_.fetch_sub(finished, std::memory_order_acq_rel) == finished;
}

// Called on a thread on which code of the program may run, so it resumes the coroutine directly.
void composite_wait::on_item_complete(completion_waiter& self, errc) noexcept {
  const auto& item = static_cast<wait_item&>(self);
  composite_wait& me = *item.wait;
  if (me.finish_callbacks(1 + me.complete_item(item))) me.awaiting_.resume();
}

// Called on any thread, like stop(). Code of the program may not run there, so the coroutine is
// resumed elsewhere.
void composite_wait::on_timeout(wait_timer& self) noexcept {
  composite_wait& me = *static_cast<timeout_timer&>(self).wait;
  if (me.finish_callbacks(1 + me.finish(wait_result::timed_out, 0))) me.post_resume();
}

void composite_wait::stop() noexcept {
  const std::size_t finished = finish(wait_result::stopped, 0);
  if (finished != 0 && finish_callbacks(finished)) post_resume();
}

// Resumes the coroutine on the thread that would have notified an item. Passes an item to the
// reactor as the waiter, which is possible because no item is registered any more. Prefers an item
// with a run loop.
void composite_wait::post_resume() noexcept {
  wait_item* carrier = nullptr;
  for (wait_item& item : items_) {
    if (item.queue != nullptr && (carrier == nullptr || item.loop != nullptr)) carrier = &item;
  }
  carrier->on_complete = &resume;
  reactor_->deliver(*carrier);
}

void composite_wait::resume(completion_waiter& self, errc) noexcept {
  static_cast<wait_item&>(self).wait->awaiting_.resume();
}

void composite_wait::throw_failure(std::span<const wait_item> items, call_site at) const {
  for (const wait_item& item : items) {
    if (item.outcome != errc::not_ready)
      throw_outcome(item.queue, item.ticket, item.outcome, "co_await", at);
  }
}

void throw_if_when_any_is_empty(std::size_t completions, call_site at) {
  if (completions == 0)
    throw_error(errc::invalid_value, "weir::when_any", "",
                "the list of completions is empty; pass at least one completion", at);
}

}  // namespace weir::detail
