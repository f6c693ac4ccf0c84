// api/event/timing_book.cpp - times counted in when their events are done.
#include "api/event/timing_book.hpp"

#include "api/core/check.hpp"
#include "api/device/green_state.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/capture/relaxed_captures.hpp"
#include "os/forked_child.hpp"

#include <weir/core/error.hpp>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

namespace weir::detail {
namespace {

// A reset that nobody has noticed yet took the events with it.
void destroy(CUevent event) noexcept {
  const CUresult answer = driver().cuEventDestroy_v2(event);
  if (answer == CUDA_ERROR_CONTEXT_IS_DESTROYED) forget_reset_contexts();
  if (answer == CUDA_ERROR_CONTEXT_IS_DESTROYED || answer == CUDA_ERROR_INVALID_CONTEXT) return;
  check_unraised(answer, "cuEventDestroy", event_ref{event});
}

// Destroying events is allowed in a capture, but nothing is in a host function. `here` is asked once for all of a book, as
// green contexts come behind their events: chores are begun in order.
void destroy_somewhere(CUevent event, bool here) noexcept {
  if (here) return destroy(event);
  leave_work([event] { destroy(event); });
}

void let_go_somewhere(green_state& state, bool here) noexcept {
  if (here) return state.drop();
  leave_work([&state] { state.drop(); });
}

}  // namespace

timing_book::~timing_book() {
  if (in_forked_child()) return;  // they are the parent's
  const bool here = may_destroy();
  for (const section& s : pending_) {
    if (is_over(s.context)) continue;
    destroy_somewhere(s.start, here);
    destroy_somewhere(s.end, here);
  }
  for (const kept_event& e : events_) {
    if (!is_over(e.context)) destroy_somewhere(e.event, here);
  }
  for (const life& l : lives_) {
    if (l.green != nullptr) let_go_somewhere(*l.green, here);
  }
}

bool timing_book::is_over(unsigned long long context) const noexcept {
  const auto known = std::ranges::find(lives_, context, &life::number);
  if (known == lives_.end()) return false;
  const device_record* const device = known->primary_of;
  return known->over || (device != nullptr && device->resets.load(std::memory_order_acquire) != known->resets);
}

// Before there is an event of it.
void timing_book::remember(CUcontext context, unsigned long long number, call_site at) {
  {
    const std::lock_guard lock{lock_};
    if (std::ranges::find(lives_, number, &life::number) != lives_.end()) return;
  }
  const context_place place = place_of(context, at);
  const device_record* const device = place.is_primary ? &record_of(weir::device{place.device}, "", at) : nullptr;
  const std::uint32_t resets = device != nullptr ? device->resets.load(std::memory_order_acquire) : 0;
  const std::lock_guard lock{lock_};
  if (std::ranges::find(lives_, number, &life::number) != lives_.end()) return;
  lives_.reserve(lives_.size() + 1);
  for (life& earlier : lives_) earlier.over |= earlier.handle == context;
  lives_.push_back({number, context, device, resets, hold_green(context), false});
}

void timing_book::let_go() noexcept {
  if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

std::size_t timing_book::number_of(std::string_view name) {
  const std::lock_guard lock{lock_};
  const auto found = std::ranges::find(timings_, name, [](const timing& t) -> std::string_view { return t.name; });
  const auto number = static_cast<std::size_t>(found - timings_.begin());
  if (found != timings_.end()) return number;
  last_.reserve(number + 1);
  timings_.push_back({.name = std::string{name}});
  last_.push_back(0);
  return number;
}

// So that a program that asks seldom does not make two events for every section. One that failed is left for those who
// ask.
void timing_book::count_in_oldest() noexcept {
  const section& oldest = pending_.front();
  float milliseconds = 0;
  if (driver().cuEventQuery(oldest.end) != CUDA_SUCCESS) return;
  if (driver().cuEventElapsedTime(&milliseconds, oldest.start, oldest.end) != CUDA_SUCCESS) return;
  --timings_[oldest.name].pending;
  keep(oldest.context, oldest.start);
  keep(oldest.context, oldest.end);
  count_in(oldest, milliseconds);
  pending_.pop_front();
}

CUevent timing_book::take_event(CUcontext context, unsigned long long number, call_site at) {
  {
    const std::lock_guard lock{lock_};
    const auto known = [&] { return std::ranges::find(events_, number, &kept_event::context); };
    auto found = known();
    if (found == events_.end() && !pending_.empty()) {
      const relaxed_captures allowed{at};
      count_in_oldest();
      found = known();
    }
    if (found != events_.end()) {
      const CUevent event = found->event;
      *found = events_.back();
      events_.pop_back();
      return event;
    }
  }
  remember(context, number, at);
  const make_current current{context, at};
  CUevent event = nullptr;
  check(driver().cuEventCreate(&event, CU_EVENT_DEFAULT), "cuEventCreate", subject{context}, at);
  return event;
}

void timing_book::keep(unsigned long long context, CUevent event) noexcept {
  try {
    events_.push_back({context, event});
  } catch (const std::bad_alloc&) {
    destroy_somewhere(event, may_destroy());
  }
}

void timing_book::give_back(unsigned long long context, CUevent event) noexcept {
  if (in_forked_child()) return;
  const std::lock_guard lock{lock_};
  keep(context, event);
}

void timing_book::add(const section& what) {
  const std::lock_guard lock{lock_};
  pending_.push_back(what);
  ++timings_[what.name].pending;
}

void timing_book::count_in(const section& what, float milliseconds) noexcept {
  timing& t = timings_[what.name];
  const double time = milliseconds;
  t.least = t.count == 0 ? time : std::min(t.least, time);
  t.most = t.count == 0 ? time : std::max(t.most, time);
  t.total += time;
  ++t.count;
  if (what.order >= last_[what.name]) {
    last_[what.name] = what.order;
    t.last = time;
  }
}

// Sections of several streams are done in any order, so all are looked at.
void timing_book::collect(call_site at) {
  const relaxed_captures allowed{at};
  const std::lock_guard lock{lock_};
  for (auto s = pending_.begin(); s != pending_.end();) {
    CUresult answer = driver().cuEventQuery(s->end);
    if (answer == CUDA_ERROR_NOT_READY) {
      ++s;
      continue;
    }
    const char* call = "cuEventQuery";
    float milliseconds = 0;
    if (answer == CUDA_SUCCESS) {
      call = "cuEventElapsedTime";
      answer = driver().cuEventElapsedTime(&milliseconds, s->start, s->end);
    }
    const section done = *s;
    s = pending_.erase(s);
    --timings_[done.name].pending;
    keep(done.context, done.start);
    keep(done.context, done.end);
    check(answer, call, event_ref{done.end}, at);
    count_in(done, milliseconds);
  }
}

void timing_book::sync(call_site at) {
  for (;;) {
    // An event that is waited for without the lock might be taken for another section meanwhile; then the wait is for
    // that one, which is no harm.
    CUevent next = nullptr;
    {
      const std::lock_guard lock{lock_};
      if (pending_.empty()) return;
      next = pending_.front().end;
    }
    // A section that failed is forgotten by collect(), which throws what it failed with; but a wait may also be refused,
    // and then the section is still to be waited for.
    std::exception_ptr refused;
    try {
      event_ref{next}.sync(at);
    } catch (const error&) {
      refused = std::current_exception();
    }
    collect(at);
    if (refused != nullptr) std::rethrow_exception(refused);
  }
}

std::vector<timing> timing_book::all() {
  const std::lock_guard lock{lock_};
  return timings_;
}

void timing_book::clear() noexcept {
  const std::lock_guard lock{lock_};
  for (const section& s : pending_) {
    keep(s.context, s.start);
    keep(s.context, s.end);
  }
  pending_.clear();
  for (timing& t : timings_) t = {.name = std::move(t.name)};
  std::ranges::fill(last_, 0ull);
}

}  // namespace weir::detail
