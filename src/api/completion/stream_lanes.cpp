// api/completion/stream_lanes.cpp - which lane a stream has.
#include <weir/device/context.hpp>

#include "api/core/check.hpp"
#include "api/completion/completion_access.hpp"
#include "api/stream/host_failures.hpp"
#include "api/device/make_current.hpp"
#include "api/core/never_destroyed.hpp"
#include "api/capture/refuse_in_capture.hpp"
#include "api/stream/stream_state.hpp"
#include "api/stream/stream_table.hpp"
#include "reactor/lane.hpp"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace weir::detail {
namespace {

// Of a few streams that are asked for by their handles. Those that do not fit are found by their states, in some 20 ns.
thread_local constinit stream_table<lane*> lanes_seen [[gnu::tls_model("initial-exec")]];

// Lanes of all streams by handle. Those of streams that weir owns end with them; of a default stream each context, and
// each thread, has its own; foreign ones are swept when nothing of theirs is under way.
struct lane_table {
  std::mutex lock;
  std::unordered_multimap<CUstream, lane*> lanes;
  std::size_t sweep_at = 64;
};

lane_table& table() {
  static never_destroyed<lane_table> the_one;
  return *the_one;
}

constinit std::atomic<std::size_t> lanes_known{0};

lane_place place_of(CUstream stream, const char* call, call_site at) {
  if (const auto facts = facts_of(stream)) {
    return {stream, facts->context, number_of(facts->context, at), facts->id, facts->device};
  }
  if (!is_default(stream)) refuse_in_capture(stream, call, at);  // which to ask for the id would break
  const CUcontext context = is_default(stream) ? current_handle(at) : context_of(stream, at);
  lane_place place{is_legacy(stream) ? CU_STREAM_LEGACY : stream, context, number_of(context, at), 0, 0};
  if (stream == CU_STREAM_PER_THREAD) place.identity = thread_number();
  if (!is_default(stream)) {
    check(driver().cuStreamGetId(stream, &place.identity), "cuStreamGetId", stream_ref{stream}, at);
  }
  place.device = context_ref{context}.device(at).ordinal();
  return place;
}

// With the lock held.
void sweep(lane_table& all) {
  if (all.lanes.size() < all.sweep_at) return;
  std::erase_if(all.lanes, [](const auto& entry) {
    lane& one = *entry.second;
    if (facts_of(one.place().stream) || !one.idle()) return false;
    one.detach();
    return true;
  });
  all.sweep_at = std::max<std::size_t>(64, 2 * all.lanes.size());
}

}  // namespace

lane& lane_of(CUstream stream, std::uint64_t& life, const char* call, call_site at) {
  life = lane::any_life;
  if (lane* const seen = lanes_seen.find(stream); seen != nullptr && !seen->failed()) [[likely]] {
    return *seen;
  }
  lanes_seen.renew();
  if (lane* const owned = lane_of_owned(stream); owned != nullptr && !owned->failed()) {
    lanes_seen.remember(stream, owned);
    return *owned;
  }
  const lane_place place = place_of(stream, call, at);
  lane_table& all = table();
  const std::lock_guard hold{all.lock};
  lane* found = nullptr;
  const auto [first, last] = all.lanes.equal_range(place.stream);
  for (auto entry = first; entry != last;) {
    lane& one = *entry->second;
    const auto next = std::next(entry);
    if (one.place() == place && !one.failed()) {
      found = &one;
    } else if (one.failed() || !is_default(place.stream)) {
      one.detach();  // of an earlier stream with this handle
      all.lanes.erase(entry);
    }
    entry = next;
  }
  if (found == nullptr) {
    sweep(all);
    found = &acquire_lane(place);
    all.lanes.emplace(place.stream, found);
    lanes_known.store(all.lanes.size(), std::memory_order_relaxed);
  }
  life = found->life();
  if (facts_of(stream)) {
    lanes_seen.remember(stream, found);
    remember_lane(stream, *found);
  }
  return *found;
}

void forget_lane(CUstream stream) noexcept {
  if (lanes_known.load(std::memory_order_relaxed) == 0) return;
  lane_table& all = table();
  const std::lock_guard hold{all.lock};
  const auto [first, last] = all.lanes.equal_range(stream);
  for (auto entry = first; entry != last; ++entry) entry->second->detach();
  all.lanes.erase(first, last);
  lanes_known.store(all.lanes.size(), std::memory_order_relaxed);
}

}  // namespace weir::detail
