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
// is null if weir refused before any call.
struct driver_result {
  errc code = errc::success;
  const char* call = nullptr;
};

// Unused events without timing, which threads and completion queues take and return. An event ends
// with its context or with the process.
//
// The pool is keyed by the id of a context, which is never reused, unlike its handle.
//
// Thread safety: all members may be called from any thread.
class event_pool {
 public:
  // Returns the pool of the process, which is never destroyed: events are returned while statics
  // are destroyed.
  [[nodiscard]] static event_pool& instance() noexcept;

  event_pool() = default;
  event_pool(const event_pool&) = delete;
  event_pool& operator=(const event_pool&) = delete;

  // Takes an event from the pool, or creates one with `context` current during the call.
  // Driver: cuCtxGetCurrent, cuCtxPushCurrent, cuEventCreate, if the pool has no event.
  [[nodiscard]] driver_result acquire(abi::CUcontext context, unsigned long long context_id,
                                      abi::CUevent& event);

  // The number of events that the pool keeps for each context.
  static constexpr std::size_t max_events = 16'384;
  // Returns events to the pool; none of them may have failed. Destroys the events that exceed
  // max_events, and all of them if there is no memory to store them.
  void release(unsigned long long context_id, std::span<const abi::CUevent> events) noexcept;

 private:
  std::mutex lock_;
  std::map<unsigned long long, std::vector<abi::CUevent>> events_;
};

// Destroys events, which may have failed.
void destroy_events(std::span<const abi::CUevent> events) noexcept;

}  // namespace weir::detail
