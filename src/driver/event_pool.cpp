// SPDX-License-Identifier: Apache-2.0
// driver/event_pool.cpp - a pool of unused events for each context.
#include "driver/event_pool.hpp"

#include "driver/table.hpp"

#include <algorithm>
#include <new>

namespace weir::detail {
namespace {

driver_result result_of(CUresult answer, const char* call) noexcept {
  return {static_cast<errc>(answer), call};
}

driver_result create_event(CUcontext context, CUevent& event) {
  const driver_table& calls = driver();
  CUcontext current = nullptr;
  if (const CUresult answer = calls.cuCtxGetCurrent(&current); answer != CUDA_SUCCESS)
    return result_of(answer, "cuCtxGetCurrent");
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

event_pool& event_pool::instance() noexcept {
  alignas(event_pool) static unsigned char memory[sizeof(event_pool)];
  static event_pool* const created = ::new (static_cast<void*>(memory)) event_pool;
  return *created;
}

driver_result event_pool::acquire(CUcontext context, unsigned long long context_id,
                                  CUevent& event) {
  {
    const std::lock_guard hold{lock_};
    if (const auto found = events_.find(context_id);
        found != events_.end() && !found->second.empty()) {
      event = found->second.back();
      found->second.pop_back();
      return {};
    }
  }
  return create_event(context, event);
}

void event_pool::release(unsigned long long context_id, std::span<const CUevent> events) noexcept {
  if (events.empty()) return;
  std::span<const CUevent> surplus = events;
  try {
    const std::lock_guard hold{lock_};
    std::vector<CUevent>& pooled = events_[context_id];
    const std::size_t count = std::min(events.size(), max_events - pooled.size());
    const std::span<const CUevent> kept = events.first(count);
    pooled.insert(pooled.end(), kept.begin(), kept.end());
    surplus = events.subspan(count);
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
