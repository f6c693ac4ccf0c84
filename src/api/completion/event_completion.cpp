// SPDX-License-Identifier: Apache-2.0
// api/completion/event_completion.cpp - completions of events, and events that are destroyed while
// their completion is pending.
#include <weir/completion/completion.hpp>
#include <weir/device/context.hpp>
#include <weir/device/device.hpp>
#include <weir/event/event.hpp>

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/completion/completion_access.hpp"
#include "api/completion/event_completion.hpp"
#include "api/core/amortized_sweep.hpp"
#include "api/core/check.hpp"
#include "api/core/never_destroyed.hpp"
#include "api/device/make_current.hpp"
#include "driver/engine_services.hpp"
#include "reactor/completion_queue.hpp"
#include "reactor/completion_queue_pool.hpp"

#include <atomic>
#include <cstddef>
#include <mutex>
#include <unordered_map>

namespace weir {
namespace detail {
namespace {

struct watched_event {
  completion_queue* queue;
  std::uint64_t ticket;
};

// The events that have a completion.
struct watch_table {
  std::mutex lock;
  std::unordered_map<CUevent, watched_event> events;
  amortized_sweep sweep;  // erases entries whose event is complete
};

watch_table& all_watches() {
  static never_destroyed<watch_table> instance;
  return *instance;
}

constinit std::atomic<std::size_t> watched_event_count{0};

bool is_complete(const watched_event& entry) noexcept {
  return entry.queue->query(entry.ticket) != errc::not_ready;
}

// Returns the key of the completion queue for a borrowed event. The driver cannot be queried for
// the device of an event. Therefore the reactor of the calling thread's current device polls it, or
// that of device 0 if no context is current.
queue_key key_of_foreign_event(call_site at) {
  queue_key key;
  key.context = current_context_handle(at);
  if (key.context != nullptr) key.device = context_ref{key.context}.device(at).ordinal();
  return key;
}

completion watch(CUevent event, const queue_key& key) {
  watch_table& shared_table = all_watches();
  const std::lock_guard hold{shared_table.lock};
  shared_table.sweep.before_insertion(shared_table.events,
                                      [](const auto& entry) { return is_complete(entry.second); });
  const auto [entry, is_new] = shared_table.events.try_emplace(event);
  watched_event& watched = entry->second;
  // A pending entry serves this completion, too.
  if (is_new || is_complete(watched)) {
    try {
      watched.queue = &acquire_queue(key);
      watched.ticket = watched.queue->watch_event(event);
    } catch (...) {
      shared_table.events.erase(entry);
      throw;
    }
  }
  watched_event_count.store(shared_table.events.size(), std::memory_order_relaxed);
  return completion_access::make(*watched.queue, watched.ticket);
}

}  // namespace

bool leave_event_to_completion(CUevent event) noexcept {
  if (watched_event_count.load(std::memory_order_relaxed) == 0) return false;
  watch_table& shared_table = all_watches();
  const std::lock_guard hold{shared_table.lock};
  const auto entry = shared_table.events.find(event);
  if (entry == shared_table.events.end()) return false;
  const watched_event& watched = entry->second;
  const bool adopted = !is_complete(watched) && watched.queue->adopt_event(watched.ticket);
  shared_table.events.erase(entry);
  watched_event_count.store(shared_table.events.size(), std::memory_order_relaxed);
  return adopted;
}

void throw_if_awaited_in_capture(event_ref event, CUstream stream, call_site at) {
  if (watched_event_count.load(std::memory_order_relaxed) == 0) return;
  if (query_capture_status(stream, at) == CU_STREAM_CAPTURE_STATUS_NONE) return;
  watch_table& shared_table = all_watches();
  const std::lock_guard hold{shared_table.lock};
  const auto entry = shared_table.events.find(event.get());
  if (entry == shared_table.events.end() || is_complete(entry->second)) return;
  throw_error(errc::illegal_state, "weir::stream::record", to_text(event),
              "a completion of the event is pending and polls it; record another event in the "
              "capture, or wait for this one first",
              at);
}

}  // namespace detail

namespace {

template <class MakeKey>
weir::completion completion_of(event_ref event, const MakeKey& make_key, call_site at) {
  if (event.done(at)) return {};
  if (const detail::engine_services* const services = detail::active_engine_services()) {
    detail::timeline_point end;
    detail::work_context context;
    const abi::CUresult answer = services->end_of_event(event.get(), end, context);
    // An event that is shared with another process is not supported, and is polled below.
    if (answer != abi::CUDA_ERROR_NOT_SUPPORTED) {
      detail::check(answer, "cuEventQuery", event, at);
      if (services->reached(end)) return {};
      detail::completion_queue& queue = detail::acquire_queue(make_key());
      return detail::completion_access::make(queue, queue.watch_event(end, context));
    }
  }
  const detail::relaxed_mode_if_capturing guard{at};
  return detail::watch(event.get(), make_key());
}

}  // namespace

weir::completion event_ref::completion(call_site at) const {
  return completion_of(
      *this, [at] { return detail::key_of_foreign_event(at); }, at);
}

weir::completion event::completion(call_site at) const {
  const auto make_key = [this] {
    detail::queue_key key;
    key.context = properties_.context;
    key.device = properties_.device;
    return key;
  };
  return completion_of(ref(), make_key, at);
}

}  // namespace weir
