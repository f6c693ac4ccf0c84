// SPDX-License-Identifier: Apache-2.0
// reactor/event_pool.cpp - a pool of unused events for each context.
#include "reactor/event_pool.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <new>
#include <vector>

namespace weir::detail {
namespace {

// Never destroyed, because events are returned while statics are destroyed.
struct pool {
  std::mutex lock;
  std::map<unsigned long long, std::vector<CUevent>> events;
};

pool& the_pool() noexcept {
  alignas(pool) static unsigned char memory[sizeof(pool)];
  static pool* const created = ::new (static_cast<void*>(memory)) pool;
  return *created;
}

driver_result result_of(CUresult answer, const char* call) noexcept {
  return {static_cast<errc>(answer), call};
}

driver_result make_event(CUcontext context, CUevent& event) {
  const driver_table& calls = driver();
  CUcontext current = nullptr;
  if (const CUresult answer = calls.cuCtxGetCurrent(&current); answer != CUDA_SUCCESS) {
    return result_of(answer, "cuCtxGetCurrent");
  }
  const bool pushes = current != context;
  if (pushes) {
    const CUresult answer = calls.cuCtxPushCurrent_v2(context);
    if (answer != CUDA_SUCCESS) return result_of(answer, "cuCtxPushCurrent");
  }
  const CUresult created = calls.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
  if (pushes) static_cast<void>(calls.cuCtxPopCurrent_v2(&current));
  return result_of(created, "cuEventCreate");
}

}  // namespace

driver_result acquire_event(CUcontext context, unsigned long long number, CUevent& event) {
  {
    pool& shared_pool = the_pool();
    const std::lock_guard hold{shared_pool.lock};
    if (const auto found = shared_pool.events.find(number);
        found != shared_pool.events.end() && !found->second.empty()) {
      event = found->second.back();
      found->second.pop_back();
      return {};
    }
  }
  return make_event(context, event);
}

void release_events(unsigned long long number, std::span<const CUevent> events) noexcept {
  if (events.empty()) return;
  std::span<const CUevent> surplus = events;
  try {
    pool& shared_pool = the_pool();
    const std::lock_guard hold{shared_pool.lock};
    std::vector<CUevent>& pooled = shared_pool.events[number];
    const std::size_t pooled_count = std::min(events.size(), max_pooled_events - pooled.size());
    pooled.insert(pooled.end(), events.begin(),
                  events.begin() + static_cast<std::ptrdiff_t>(pooled_count));
    surplus = events.subspan(pooled_count);
  } catch (const std::bad_alloc&) {  // all events are still in `surplus`
  }
  destroy_events(surplus);
}

void destroy_events(std::span<const CUevent> events) noexcept {
  const driver_table* const calls = table_in_use.load(std::memory_order_acquire);
  if (calls == nullptr) return;
  for (const CUevent event : events) static_cast<void>(calls->cuEventDestroy_v2(event));
}

}  // namespace weir::detail
