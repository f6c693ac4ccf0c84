// reactor/event_store.cpp - events of a context that nobody uses just now.
#include "reactor/event_store.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <new>
#include <vector>

namespace weir::detail {
namespace {

// Events are given back while statics are destroyed.
struct store {
  std::mutex lock;
  std::map<unsigned long long, std::vector<CUevent>> events;
};

store& the_store() noexcept {
  alignas(store) static unsigned char memory[sizeof(store)];
  static store* const made = ::new (static_cast<void*>(memory)) store;
  return *made;
}

call_outcome outcome_of(CUresult answer, const char* call) noexcept { return {static_cast<errc>(answer), call}; }

call_outcome make_event(CUcontext context, CUevent& event) {
  const driver_table& calls = driver();
  CUcontext current = nullptr;
  if (const CUresult answer = calls.cuCtxGetCurrent(&current); answer != CUDA_SUCCESS) {
    return outcome_of(answer, "cuCtxGetCurrent");
  }
  const bool pushes = current != context;
  if (pushes) {
    const CUresult answer = calls.cuCtxPushCurrent_v2(context);
    if (answer != CUDA_SUCCESS) return outcome_of(answer, "cuCtxPushCurrent");
  }
  const CUresult made = calls.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
  if (pushes) static_cast<void>(calls.cuCtxPopCurrent_v2(&current));
  return outcome_of(made, "cuEventCreate");
}

}  // namespace

call_outcome take_event(CUcontext context, unsigned long long number, CUevent& event) {
  {
    store& all = the_store();
    const std::lock_guard hold{all.lock};
    if (const auto found = all.events.find(number); found != all.events.end() && !found->second.empty()) {
      event = found->second.back();
      found->second.pop_back();
      return {};
    }
  }
  return make_event(context, event);
}

void give_events(unsigned long long number, std::span<const CUevent> events) noexcept {
  if (events.empty()) return;
  std::span<const CUevent> too_many = events;
  try {
    store& all = the_store();
    const std::lock_guard hold{all.lock};
    std::vector<CUevent>& kept = all.events[number];
    const std::size_t taken = std::min(events.size(), most_events_kept - kept.size());
    kept.insert(kept.end(), events.begin(), events.begin() + static_cast<std::ptrdiff_t>(taken));
    too_many = events.subspan(taken);
  } catch (const std::bad_alloc&) {  // none was taken
  }
  destroy_events(too_many);
}

void destroy_events(std::span<const CUevent> events) noexcept {
  const driver_table* const calls = table_in_use.load(std::memory_order_acquire);
  if (calls == nullptr) return;
  for (const CUevent event : events) static_cast<void>(calls->cuEventDestroy_v2(event));
}

}  // namespace weir::detail
