// SPDX-License-Identifier: Apache-2.0
// api/completion/stream_queues.cpp - the table of streams and their completion queues.
#include <weir/device/context.hpp>

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/completion/completion_access.hpp"
#include "api/core/check.hpp"
#include "api/core/never_destroyed.hpp"
#include "api/device/make_current.hpp"
#include "api/stream/host_failures.hpp"
#include "api/stream/stream_cache.hpp"
#include "api/stream/stream_state.hpp"
#include "reactor/completion_queue.hpp"
#include "reactor/completion_queue_pool.hpp"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace weir::detail {
namespace {

// A cache of the queues of a few streams. If a stream that weir owns is not in the cache, its queue
// is found through its stream_state, which costs about 20 ns.
thread_local constinit stream_cache<completion_queue*> recent_queues
    [[gnu::tls_model("initial-exec")]];

// The completion queues of all streams, by handle. Default streams have a queue for each context
// and, for the per-thread default stream, each thread.
//
// The queue of a stream that weir owns is detached when the stream is destroyed. When the table has
// `sweep_at` entries, sweep() detaches queues of other streams that have no pending point (a
// completion that is not done). `sweep_at` then becomes twice the number of the remaining entries,
// but at least 64.
struct queue_table {
  std::mutex lock;
  std::unordered_multimap<CUstream, completion_queue*> queues;
  std::size_t sweep_at = 64;
};

queue_table& all_queues() {
  static never_destroyed<queue_table> instance;
  return *instance;
}

constinit std::atomic<std::size_t> queue_count{0};

queue_key key_of(CUstream stream, const char* call, call_site at) {
  if (const auto facts = find_stream_properties(stream)) {
    return {stream, facts->context, context_id_of(facts->context, at), facts->id, facts->device};
  }
  if (!is_default(stream))
    throw_if_capturing(stream, call, at);  // cuStreamGetId would invalidate the capture
  const CUcontext context =
      is_default(stream) ? current_context_handle(at) : context_of(stream, at);
  queue_key key{is_legacy(stream) ? CU_STREAM_LEGACY : stream, context, context_id_of(context, at),
                0, 0};
  if (stream == CU_STREAM_PER_THREAD) key.identity = unique_thread_id();
  if (!is_default(stream)) {
    check(driver().cuStreamGetId(stream, &key.identity), "cuStreamGetId", stream_ref{stream}, at);
  }
  key.device = context_ref{context}.device(at).ordinal();
  return key;
}

// Detaches and erases queues of streams that weir does not own, if they have no pending point. Does
// nothing until the table has `sweep_at` entries. The caller holds the lock of the table.
void sweep(queue_table& shared_table) {
  if (shared_table.queues.size() < shared_table.sweep_at) return;
  std::erase_if(shared_table.queues, [](const auto& entry) {
    completion_queue& queue = *entry.second;
    if (find_stream_properties(queue.key().stream) || !queue.idle()) return false;
    queue.detach();
    return true;
  });
  shared_table.sweep_at = std::max<std::size_t>(64, 2 * shared_table.queues.size());
}

}  // namespace

completion_queue& queue_of(CUstream stream, std::uint64_t& generation, const char* call,
                           call_site at) {
  generation = completion_queue::any_generation;
  if (completion_queue* const recent = recent_queues.find(stream);
      recent != nullptr && !recent->failed()) [[likely]] {
    return *recent;
  }
  recent_queues.invalidate_stale();
  if (completion_queue* const owned = queue_of_owned(stream);
      owned != nullptr && !owned->failed()) {
    recent_queues.insert(stream, owned);
    return *owned;
  }
  const queue_key key = key_of(stream, call, at);
  queue_table& shared_table = all_queues();
  const std::lock_guard hold{shared_table.lock};
  completion_queue* found = nullptr;
  const auto [first, last] = shared_table.queues.equal_range(key.stream);
  for (auto entry = first; entry != last;) {
    completion_queue& queue = *entry->second;
    const auto next = std::next(entry);
    if (queue.key() == key && !queue.failed()) {
      found = &queue;
    } else if (queue.failed() || !is_default(key.stream)) {
      queue.detach();  // it has failed, or belongs to an earlier stream with this handle
      shared_table.queues.erase(entry);
    }
    entry = next;
  }
  if (found == nullptr) {
    sweep(shared_table);
    found = &acquire_queue(key);
    shared_table.queues.emplace(key.stream, found);
    queue_count.store(shared_table.queues.size(), std::memory_order_relaxed);
  }
  generation = found->generation();
  // Only an owned stream calls forget_queue() when it is destroyed, so only its queue is cached.
  if (find_stream_properties(stream)) {
    recent_queues.insert(stream, found);
    remember_queue(stream, *found);
  }
  return *found;
}

void forget_queue(CUstream stream) noexcept {
  if (queue_count.load(std::memory_order_relaxed) == 0) return;
  queue_table& shared_table = all_queues();
  const std::lock_guard hold{shared_table.lock};
  const auto [first, last] = shared_table.queues.equal_range(stream);
  for (auto entry = first; entry != last; ++entry) entry->second->detach();
  shared_table.queues.erase(first, last);
  queue_count.store(shared_table.queues.size(), std::memory_order_relaxed);
}

}  // namespace weir::detail
