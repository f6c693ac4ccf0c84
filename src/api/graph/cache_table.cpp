// SPDX-License-Identifier: Apache-2.0
// api/graph/cache_table.cpp - the executables of a graph cache by key and context, in LRU order.
#include "api/graph/cache_table.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <list>
#include <utility>

namespace weir::detail {
namespace {

constexpr std::size_t max_buckets = std::size_t{1} << 16;
constexpr unsigned max_retry_interval = 1024;

}  // namespace

bool cache_table::claim::is_exec_in_use() const noexcept {
  return __atomic_load_n(&entry_.exec.get()->shares, __ATOMIC_ACQUIRE) != 1;
}

void cache_table::claim::drop_exec() noexcept {
  keep_alive_ref removed;  // destroyed after the lock is released
  const std::lock_guard lock{table_.lock_};
  removed = std::move(entry_.exec);
  entry_.ready = false;
}

keep_alive_ref cache_table::claim::store_exec(keep_alive_ref exec, unsigned long long version,
                                              cache_use use) noexcept {
  keep_alive_ref previous;  // destroyed after the lock is released
  const std::lock_guard lock{table_.lock_};
  previous = std::exchange(entry_.exec, exec);
  entry_.version = version;
  entry_.ready = !entry_.is_invalidated;
  entry_.retry_interval = 0;
  entry_.remaining_skips = 0;
  table_.increment(use);
  return exec;
}

void cache_table::claim::record_failure(unsigned long long version, const error& failure) noexcept {
  const std::lock_guard lock{table_.lock_};
  const bool again = entry_.retry_interval != 0 && entry_.failed_version == version;
  entry_.retry_interval = again ? std::min(2 * entry_.retry_interval, max_retry_interval) : 1;
  entry_.remaining_skips = entry_.is_invalidated ? 0 : entry_.retry_interval;
  entry_.failed_version = version;
  ++table_.counts_.failed;
  table_.last_failure_ = failure;
}

cache_table::claim::~claim() {
  std::list<entry> removed;
  const std::lock_guard lock{table_.lock_};
  entry_.busy = false;
  if (entry_.removed) {
    removed.splice(removed.end(), table_.claimed_and_removed_, entry_.position);
  } else if (!entry_.exec && entry_.retry_interval == 0) {
    table_.remove(entry_, removed);  // it has neither an executable nor a failure
  }
}

cache_table::cache_table(std::size_t capacity)
    : capacity_{capacity}, buckets_(std::bit_ceil(std::min(capacity, max_buckets))) {}

// A hash may be a plain number or an address. The multiplication makes the upper bits depend on all
// its bits.
std::size_t cache_table::bucket_of(const cache_key& key) const noexcept {
  const std::uint64_t mixed = static_cast<std::uint64_t>(key.hash) * 0x9e37'79b9'7f4a'7c15u;
  return (mixed >> 40) & (buckets_.size() - 1);
}

cache_table::entry* cache_table::find(const cache_key& key, unsigned long long context) const {
  entry* candidate = buckets_[bucket_of(key)];
  while (candidate != nullptr && (candidate->context != context || !candidate->matches(key)))
    candidate = candidate->next;
  return candidate;
}

void cache_table::remove(entry& victim, std::list<entry>& removed) noexcept {
  entry** slot = &buckets_[victim.bucket];
  while (*slot != &victim) slot = &(*slot)->next;
  *slot = victim.next;
  victim.removed = true;
  std::list<entry>& new_owner = victim.busy ? claimed_and_removed_ : removed;
  new_owner.splice(new_owner.end(), entries_, victim.position);
}

bool cache_table::insert(std::list<entry>& fresh, std::list<entry>& removed) noexcept {
  if (entries_.size() == capacity_) {
    const auto last = std::find_if(entries_.rbegin(), entries_.rend(),
                                   [](const entry& each) { return !each.busy; });
    if (last == entries_.rend()) return false;
    remove(*last, removed);
    ++counts_.evicted;
  }
  entry& added = fresh.front();
  added.position = fresh.begin();
  added.next = std::exchange(buckets_[added.bucket], &added);
  entries_.splice(entries_.begin(), fresh);
  return true;
}

keep_alive_ref cache_table::find_ready(const cache_key& key, unsigned long long context,
                                       unsigned long long version) {
  const std::lock_guard lock{lock_};
  entry* const existing = find(key, context);
  if (existing == nullptr || !existing->ready || existing->busy || existing->version != version)
    return {};
  touch(*existing);
  ++counts_.replayed;
  return existing->exec;
}

cache_table::lookup_result cache_table::find_or_claim(const cache_key& key,
                                                      unsigned long long context,
                                                      unsigned long long version) {
  std::list<entry> fresh;
  std::list<entry> removed;
  fresh.emplace_front(key, context, bucket_of(key));
  const std::lock_guard lock{lock_};
  entry* existing = find(key, context);
  if (existing == nullptr) {
    existing = &fresh.front();
    if (!insert(fresh, removed)) return {};
  } else if (existing->busy) {
    return {};
  } else if (existing->ready && existing->version == version) {
    touch(*existing);
    ++counts_.replayed;
    return {existing->exec, nullptr};
  } else if (existing->remaining_skips != 0 && existing->failed_version == version) {
    touch(*existing);
    --existing->remaining_skips;
    return {};
  }
  touch(*existing);
  existing->busy = true;
  existing->is_invalidated = false;
  return {{}, existing};
}

void cache_table::invalidate(const cache_key& key) {
  const std::lock_guard lock{lock_};
  for (entry* candidate = buckets_[bucket_of(key)]; candidate != nullptr;
       candidate = candidate->next) {
    if (!candidate->matches(key)) continue;
    candidate->is_invalidated = true;
    candidate->ready = false;
    candidate->remaining_skips = 0;
  }
}

void cache_table::erase(const cache_key& key) {
  std::list<entry> removed;
  const std::lock_guard lock{lock_};
  for (entry* candidate = buckets_[bucket_of(key)]; candidate != nullptr;) {
    entry* const next = candidate->next;
    if (candidate->matches(key)) remove(*candidate, removed);
    candidate = next;
  }
}

void cache_table::clear() noexcept {
  std::list<entry> removed;
  const std::lock_guard lock{lock_};
  while (!entries_.empty()) remove(entries_.back(), removed);
}

void cache_table::increment(cache_use use) noexcept {
  switch (use) {
    case cache_use::replayed: ++counts_.replayed; break;
    case cache_use::captured: ++counts_.captured; break;
    case cache_use::updated: ++counts_.updated; break;
    case cache_use::reinstantiated: ++counts_.reinstantiated; break;
    case cache_use::eager: ++counts_.eager; break;
    case cache_use::recorded: ++counts_.recorded; break;
  }
}

void cache_table::record_use(cache_use use) noexcept {
  const std::lock_guard lock{lock_};
  increment(use);
}

graph_cache_counts cache_table::counts() const noexcept {
  const std::lock_guard lock{lock_};
  graph_cache_counts all = counts_;
  all.size = entries_.size();
  return all;
}

std::optional<error> cache_table::last_failure() const {
  const std::lock_guard lock{lock_};
  return last_failure_;
}

}  // namespace weir::detail
