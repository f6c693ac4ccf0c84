// api/graph/cache_table.cpp - the executables of a graph cache, by key and context, in the order of their use.
#include "api/graph/cache_table.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace weir::detail {
namespace {

constexpr std::size_t most_buckets = std::size_t{1} << 16;
constexpr unsigned most_skipped = 1024;

}  // namespace

bool cache_table::claim::is_exec_in_use() const noexcept {
  return __atomic_load_n(&mine_.exec.get()->shares, __ATOMIC_ACQUIRE) != 1;
}

void cache_table::claim::drop_exec() noexcept {
  owner_share gone;
  const std::lock_guard lock{table_.lock_};
  gone = std::move(mine_.exec);
  mine_.ready = false;
}

owner_share cache_table::claim::made(owner_share exec, unsigned long long version, cache_use how) noexcept {
  owner_share before;
  const std::lock_guard lock{table_.lock_};
  before = std::exchange(mine_.exec, exec);
  mine_.version = version;
  mine_.ready = !mine_.changed;
  mine_.distance = 0;
  mine_.skip = 0;
  table_.add(how);
  return exec;
}

void cache_table::claim::broke(unsigned long long version, const error& why) noexcept {
  const std::lock_guard lock{table_.lock_};
  const bool again = mine_.distance != 0 && mine_.broken_version == version;
  mine_.distance = again ? std::min(2 * mine_.distance, most_skipped) : 1;
  mine_.skip = mine_.changed ? 0 : mine_.distance;
  mine_.broken_version = version;
  ++table_.counts_.broken;
  table_.last_failure_ = why;
}

cache_table::claim::~claim() {
  taken gone;
  const std::lock_guard lock{table_.lock_};
  mine_.busy = false;
  if (mine_.gone) {
    gone.first.reset(&mine_);
  } else if (!mine_.exec && mine_.distance == 0) {
    table_.remove(mine_, gone);  // it came to nothing
  }
}

cache_table::cache_table(std::size_t capacity)
    : capacity_{capacity}, buckets_(std::bit_ceil(std::min(capacity, most_buckets))) {}

// Hashes may be plain numbers or addresses; the multiplication spreads them over the upper bits.
std::size_t cache_table::bucket_of(const cache_key& key) const noexcept {
  const std::uint64_t mixed = static_cast<std::uint64_t>(key.hash) * 0x9e37'79b9'7f4a'7c15u;
  return (mixed >> 40) & (buckets_.size() - 1);
}

cache_table::entry* cache_table::find(const cache_key& key, unsigned long long context) const {
  entry* each = buckets_[bucket_of(key)].get();
  while (each != nullptr && (each->context != context || !each->has(key))) each = each->next.get();
  return each;
}

void cache_table::link(entry& newest) noexcept {
  newest.older = newest_;
  newest.newer = nullptr;
  (newest_ != nullptr ? newest_->newer : oldest_) = &newest;
  newest_ = &newest;
}

void cache_table::unlink(entry& which) noexcept {
  (which.newer != nullptr ? which.newer->older : newest_) = which.older;
  (which.older != nullptr ? which.older->newer : oldest_) = which.newer;
}

void cache_table::touch(entry& used) noexcept {
  if (newest_ == &used) [[likely]] {
    return;
  }
  unlink(used);
  link(used);
}

void cache_table::remove(entry& which, taken& gone) noexcept {
  std::unique_ptr<entry>* place = &buckets_[which.bucket];
  while (place->get() != &which) place = &(*place)->next;
  std::unique_ptr<entry> out = std::move(*place);
  *place = std::move(out->next);
  unlink(which);
  --counts_.size;
  if (which.busy) {
    which.gone = true;  // whoever fills it ends it
    static_cast<void>(out.release());
    return;
  }
  out->next = std::move(gone.first);
  gone.first = std::move(out);
}

bool cache_table::insert(std::unique_ptr<entry>& fresh, taken& gone) noexcept {
  if (counts_.size == capacity_) {
    entry* last = oldest_;
    while (last != nullptr && last->busy) last = last->newer;
    if (last == nullptr) return false;
    remove(*last, gone);
    ++counts_.evicted;
  }
  link(*fresh);
  std::unique_ptr<entry>& place = buckets_[fresh->bucket];
  fresh->next = std::move(place);
  place = std::move(fresh);
  ++counts_.size;
  return true;
}

owner_share cache_table::find_ready(const cache_key& key, unsigned long long context, unsigned long long version) {
  const std::lock_guard lock{lock_};
  entry* const there = find(key, context);
  if (there == nullptr || !there->ready || there->busy || there->version != version) return {};
  touch(*there);
  ++counts_.replayed;
  return there->exec;
}

cache_table::found cache_table::find_or_claim(const cache_key& key, unsigned long long context,
                                              unsigned long long version) {
  auto fresh = std::make_unique<entry>(key, context);
  fresh->bucket = bucket_of(key);
  taken gone;
  const std::lock_guard lock{lock_};
  entry* there = find(key, context);
  if (there == nullptr) {
    there = fresh.get();
    if (!insert(fresh, gone)) return {};
  } else if (there->busy) {
    return {};
  } else if (there->ready && there->version == version) {
    touch(*there);
    ++counts_.replayed;
    return {there->exec, nullptr};
  } else if (there->skip != 0 && there->broken_version == version) {
    touch(*there);
    --there->skip;
    return {};
  }
  touch(*there);
  there->busy = true;
  there->changed = false;
  return {{}, there};
}

void cache_table::invalidate(const cache_key& key) {
  const std::lock_guard lock{lock_};
  for (entry* each = buckets_[bucket_of(key)].get(); each != nullptr; each = each->next.get()) {
    if (!each->has(key)) continue;
    each->changed = true;
    each->ready = false;
    each->skip = 0;
  }
}

void cache_table::erase(const cache_key& key) {
  taken gone;
  const std::lock_guard lock{lock_};
  for (entry* each = buckets_[bucket_of(key)].get(); each != nullptr;) {
    entry* const next = each->next.get();
    if (each->has(key)) remove(*each, gone);
    each = next;
  }
}

void cache_table::clear() noexcept {
  taken gone;
  const std::lock_guard lock{lock_};
  while (oldest_ != nullptr) remove(*oldest_, gone);
}

void cache_table::add(cache_use how) noexcept {
  switch (how) {
    case cache_use::replayed: ++counts_.replayed; break;
    case cache_use::captured: ++counts_.captured; break;
    case cache_use::updated: ++counts_.updated; break;
    case cache_use::remade: ++counts_.remade; break;
    case cache_use::eager: ++counts_.eager; break;
    case cache_use::recorded: ++counts_.recorded; break;
  }
}

void cache_table::count(cache_use how) noexcept {
  const std::lock_guard lock{lock_};
  add(how);
}

graph_cache_counts cache_table::counts() const noexcept {
  const std::lock_guard lock{lock_};
  return counts_;
}

std::optional<error> cache_table::last_failure() const {
  const std::lock_guard lock{lock_};
  return last_failure_;
}

}  // namespace weir::detail
