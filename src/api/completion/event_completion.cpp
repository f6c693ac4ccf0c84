// api/completion/event_completion.cpp - events as points that are awaited, and what becomes of those that end meanwhile.
#include <weir/completion/completion.hpp>
#include <weir/device/context.hpp>
#include <weir/device/device.hpp>
#include <weir/event/event.hpp>

#include "api/capture/captures.hpp"
#include "api/core/check.hpp"
#include "api/completion/completion_access.hpp"
#include "api/completion/event_completion.hpp"
#include "api/device/make_current.hpp"
#include "api/core/never_destroyed.hpp"
#include "api/capture/relaxed_captures.hpp"
#include "driver/engine_services.hpp"
#include "reactor/lane.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <unordered_map>

namespace weir {
namespace detail {
namespace {

struct watched {
  lane* where;
  std::uint64_t ticket;
};

// Events that are asked until they are done. Those that are, and that nobody asked for since, are swept.
struct watch_table {
  std::mutex lock;
  std::unordered_map<CUevent, watched> events;
  std::size_t sweep_at = 64;
};

watch_table& table() {
  static never_destroyed<watch_table> the_one;
  return *the_one;
}

constinit std::atomic<std::size_t> events_watched{0};

bool is_over(const watched& entry) noexcept { return entry.where->ask(entry.ticket) != errc::not_ready; }

// Of an event that somebody else has made nobody tells the device: that which the thread uses looks after it.
lane_place place_of_foreign(call_site at) {
  lane_place place;
  place.context = current_handle(at);
  if (place.context != nullptr) place.device = context_ref{place.context}.device(at).ordinal();
  return place;
}

completion watch(CUevent event, const lane_place& place) {
  watch_table& all = table();
  const std::lock_guard hold{all.lock};
  if (all.events.size() >= all.sweep_at) {
    std::erase_if(all.events, [](const auto& entry) { return is_over(entry.second); });
    all.sweep_at = std::max<std::size_t>(64, 2 * all.events.size());
  }
  const auto [entry, is_new] = all.events.try_emplace(event);
  watched& known = entry->second;
  if (is_new || is_over(known)) {
    try {
      known.where = &acquire_lane(place);
      known.ticket = known.where->note_only(event);
    } catch (...) {
      all.events.erase(entry);
      throw;
    }
  }
  events_watched.store(all.events.size(), std::memory_order_relaxed);
  return completion_access::make(*known.where, known.ticket);
}

}  // namespace

bool leave_to_completion(CUevent event) noexcept {
  if (events_watched.load(std::memory_order_relaxed) == 0) return false;
  watch_table& all = table();
  const std::lock_guard hold{all.lock};
  const auto entry = all.events.find(event);
  if (entry == all.events.end()) return false;
  const bool left = !is_over(entry->second) && entry->second.where->leave_event();
  all.events.erase(entry);
  events_watched.store(all.events.size(), std::memory_order_relaxed);
  return left;
}

void refuse_awaited_in_capture(event_ref event, CUstream stream, call_site at) {
  if (events_watched.load(std::memory_order_relaxed) == 0) return;
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  check(driver().cuStreamIsCapturing(stream, &capture), "cuStreamIsCapturing", stream_ref{stream}, at);
  if (capture == CU_STREAM_CAPTURE_STATUS_NONE) return;
  watch_table& all = table();
  const std::lock_guard hold{all.lock};
  const auto entry = all.events.find(event.get());
  if (entry == all.events.end() || is_over(entry->second)) return;
  fail(errc::illegal_state, "weir::stream::record", to_text(event),
       "its completion is pending, and asks it: record another event in the capture, or wait for this one first", at);
}

}  // namespace detail

namespace {

template <class Place>
weir::completion completion_of(event_ref event, const Place& place, call_site at) {
  if (event.done(at)) return {};
  if (const detail::engine_services* const services = detail::services_if_any()) {
    detail::work_point end;
    detail::work_home where;
    const abi::CUresult answer = services->end_of_event(event.get(), end, where);
    if (answer != abi::CUDA_ERROR_NOT_SUPPORTED) {
      detail::check(answer, "cuEventQuery", event, at);
      if (services->reached(end)) return {};
      detail::lane& lane = detail::acquire_lane(place());
      return detail::completion_access::make(lane, lane.note_only(end, where));
    }
  }
  const detail::relaxed_in_our_captures unharmed{at};
  return detail::watch(event.get(), place());
}

}  // namespace

weir::completion event_ref::completion(call_site at) const {
  return completion_of(
      *this, [at] { return detail::place_of_foreign(at); }, at);
}

weir::completion event::completion(call_site at) const {
  const auto place = [this] {
    detail::lane_place own;
    own.context = context_;
    own.device = device_;
    return own;
  };
  return completion_of(ref(), place, at);
}

weir::completion timed_event::completion(call_site at) const { return event_.completion(at); }

}  // namespace weir
