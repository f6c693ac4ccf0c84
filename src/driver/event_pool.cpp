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

// Creates an event while `context` is current.
driver_result create_event(CUcontext context, unsigned flags, CUevent& event) {
  const driver_table& calls = driver();
  CUcontext current = nullptr;
  if (const CUresult answer = calls.cuCtxGetCurrent(&current); answer != CUDA_SUCCESS)
    return result_of(answer, "cuCtxGetCurrent");
  const bool must_push = current != context;
  if (must_push) {
    const CUresult answer = calls.cuCtxPushCurrent_v2(context);
    if (answer != CUDA_SUCCESS) return result_of(answer, "cuCtxPushCurrent");
  }
  const CUresult created = calls.cuEventCreate(&event, flags);
  CUcontext popped = nullptr;
  if (must_push) static_cast<void>(calls.cuCtxPopCurrent_v2(&popped));
  return result_of(created, "cuEventCreate");
}

struct process_pools {
  event_pool untimed{CU_EVENT_DISABLE_TIMING};
  event_pool timed{CU_EVENT_DEFAULT};
};

process_pools& all_pools() noexcept {
  alignas(process_pools) static unsigned char memory[sizeof(process_pools)];
  static process_pools* const created = ::new (static_cast<void*>(memory)) process_pools;
  return *created;
}

}  // namespace

event_pool& event_pool::instance() noexcept { return all_pools().untimed; }

event_pool& event_pool::timed() noexcept { return all_pools().timed; }

CUevent event_pool::take(unsigned long long context_id) noexcept {
  const std::lock_guard hold{lock_};
  const auto found = events_.find(context_id);
  if (found == events_.end() || found->second.empty()) return nullptr;
  const CUevent event = found->second.back();
  found->second.pop_back();
  return event;
}

driver_result event_pool::acquire(CUcontext context, unsigned long long context_id,
                                  CUevent& event) {
  event = take(context_id);
  return event != nullptr ? driver_result{} : create_event(context, flags_, event);
}

void event_pool::release(unsigned long long context_id, std::span<const CUevent> events) noexcept {
  if (events.empty()) return;
  std::span<const CUevent> surplus;
  try {
    const std::lock_guard hold{lock_};
    std::vector<CUevent>& pooled = events_[context_id];
    const std::size_t count = std::min(events.size(), limit_ - std::min(limit_, pooled.size()));
    const std::span<const CUevent> kept = events.first(count);
    pooled.insert(pooled.end(), kept.begin(), kept.end());
    surplus = events.subspan(count);
  } catch (const std::bad_alloc&) {  // no event is stored or destroyed
  }
  destroy_events(surplus);
}

void event_pool::keep(unsigned long long context_id, std::span<const CUevent> events) noexcept {
  try {
    const std::lock_guard hold{lock_};
    std::vector<CUevent>& pooled = events_[context_id];
    pooled.insert(pooled.end(), events.begin(), events.end());
  } catch (const std::bad_alloc&) {  // no event is stored
  }
}

void destroy_events(std::span<const CUevent> events) noexcept {
  const driver_table* const calls = table_in_use.load(std::memory_order_acquire);
  if (calls == nullptr) return;
  for (const CUevent event : events) static_cast<void>(calls->cuEventDestroy_v2(event));
}

}  // namespace weir::detail
