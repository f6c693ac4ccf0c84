// SPDX-License-Identifier: Apache-2.0
// driver/event_pool.hpp - a pool of unused events for each context.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/errc.hpp>

#include <cstddef>
#include <map>
#include <mutex>
#include <span>
#include <vector>

namespace weir::detail {

// The result of driver calls: success, or the error and the name of the call that failed. The name
// is null if no driver call failed: weir itself refused, or the embedded engine failed.
struct driver_result {
  errc code = errc::success;
  const char* call = nullptr;
};

// Unused events, which threads, completion queues and timers take and return. An event ends with
// its context or with the process.
//
// The pool is keyed by the id of a context, which is never reused, unlike its handle.
//
// Thread safety: all members may be called from any thread.
class event_pool {
 public:
  // Returns the process's pool of events without timing. It is never destroyed: events are returned
  // while statics are destroyed.
  [[nodiscard]] static event_pool& instance() noexcept;
  // Like instance(), for events with timing.
  [[nodiscard]] static event_pool& timed() noexcept;

  // The number of events above which release() destroys events, for each context.
  static constexpr std::size_t max_events = 16'384;
  // `flags` are those of cuEventCreate. `limit` replaces max_events.
  explicit event_pool(unsigned flags, std::size_t limit = max_events) noexcept
      : flags_{flags}, limit_{limit} {}
  event_pool(const event_pool&) = delete;
  event_pool& operator=(const event_pool&) = delete;

  // Takes an event from the pool. Returns null if the pool has none for this context.
  [[nodiscard]] abi::CUevent take(unsigned long long context_id) noexcept;
  // Takes an event from the pool, or creates one with `context` current during the call.
  // Driver: cuCtxGetCurrent, cuCtxPushCurrent, cuEventCreate, if the pool has no event.
  [[nodiscard]] driver_result acquire(abi::CUcontext context, unsigned long long context_id,
                                      abi::CUevent& event);

  // Returns events to the pool. Do not return events of a failed context: they would only take up
  // room there, because no later record of them can succeed. Destroys the events that exceed the
  // limit. If there is no memory to store them, they stay unused until their context ends.
  void release(unsigned long long context_id, std::span<const abi::CUevent> events) noexcept;
  // Like release(), for events whose context may have ended. Destroys none, also above the limit,
  // because their handles may be those of other events.
  void keep(unsigned long long context_id, std::span<const abi::CUevent> events) noexcept;

 private:
  const unsigned flags_;
  const std::size_t limit_;
  std::mutex lock_;
  std::map<unsigned long long, std::vector<abi::CUevent>> events_;
};

// Destroys events, which may have failed.
void destroy_events(std::span<const abi::CUevent> events) noexcept;

}  // namespace weir::detail
