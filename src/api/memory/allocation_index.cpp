// SPDX-License-Identifier: Apache-2.0
// api/memory/allocation_index.cpp - finds the live allocation that contains an address.
#include "api/memory/allocation_index.hpp"

#include "os/forked_child.hpp"
#include "os/spin_lock.hpp"

#include <sched.h>

#include <algorithm>
#include <bit>

namespace weir::detail {
namespace {

constinit allocation_index all_allocations;

// Lets the thread that changes a bucket continue.
void back_off(int attempt) noexcept {
  if (attempt < 64) {
    os::pause();
  } else {
    sched_yield();
  }
}

}  // namespace

allocation_index& allocation_index::instance() noexcept { return all_allocations; }

unsigned allocation_index::level_of(std::size_t bytes) noexcept {
  const auto bits = static_cast<unsigned>(std::bit_width(bytes - 1));
  return bits <= shift_of(0) ? 0 : std::min((bits - shift_of(0) + 3) / 4, level_count - 1);
}

// Multiplies by the golden ratio, which distributes successive numbers evenly.
std::size_t allocation_index::bucket_number(std::uintptr_t region) noexcept {
  return static_cast<std::size_t>(region * 0x9E3779B97F4A7C15u >> (64 - bucket_bits));
}

void allocation_index::insert(allocation_entries& entries, const void* address, std::size_t bytes,
                              const tracked_memory& memory) noexcept {
  if (address == nullptr || bytes == 0) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const unsigned level = level_of(bytes);
  const std::uintptr_t first = begin >> shift_of(level);
  const std::uintptr_t last = (begin + bytes - 1) >> shift_of(level);
  const unsigned bit = 1u << level;
  if ((used_levels_.load(std::memory_order_relaxed) & bit) == 0)
    used_levels_.fetch_or(bit, std::memory_order_relaxed);
  for (std::size_t i = 0; i <= (last != first ? 1u : 0u); ++i) {
    allocation_entry& entry = entries[i];
    entry.begin.store(begin, std::memory_order_release);
    entry.bytes.store(bytes, std::memory_order_release);
    entry.memory.store(&memory, std::memory_order_release);
    link(bucket_of(level, i == 0 ? first : last), entry);
  }
}

void allocation_index::remove(allocation_entries& entries) noexcept {
  const std::size_t bytes = entries[0].bytes.load(std::memory_order_relaxed);
  if (bytes == 0) return;
  const std::uintptr_t begin = entries[0].begin.load(std::memory_order_relaxed);
  const unsigned level = level_of(bytes);
  unlink(bucket_of(level, begin >> shift_of(level)), entries[0]);
  if (entries[1].bytes.load(std::memory_order_relaxed) != 0)
    unlink(bucket_of(level, (begin + bytes - 1) >> shift_of(level)), entries[1]);
}

// Makes the version odd, which locks the bucket. Returns the version. Storing the next even number
// unlocks the bucket.
unsigned allocation_index::lock(bucket& locked) noexcept {
  for (int attempt = 0;; ++attempt) {
    unsigned version = locked.version.load(std::memory_order_relaxed);
    if (version % 2 == 0 &&
        locked.version.compare_exchange_weak(version, version + 1, std::memory_order_acquire))
      return version + 1;
    back_off(attempt);
  }
}

void allocation_index::link(bucket& changed, allocation_entry& entry) noexcept {
  const unsigned version = lock(changed);
  entry.next.store(changed.first.load(std::memory_order_relaxed), std::memory_order_release);
  changed.first.store(&entry, std::memory_order_release);
  changed.version.store(version + 1, std::memory_order_release);
}

void allocation_index::unlink(bucket& changed, allocation_entry& entry) noexcept {
  const unsigned version = lock(changed);
  std::atomic<allocation_entry*>* link = &changed.first;
  while (link->load(std::memory_order_relaxed) != &entry)
    link = &link->load(std::memory_order_relaxed)->next;
  link->store(entry.next.load(std::memory_order_relaxed), std::memory_order_release);
  entry.bytes.store(0, std::memory_order_release);
  changed.version.store(version + 1, std::memory_order_release);
}

const tracked_memory* allocation_index::find(const void* address) const noexcept {
  const auto searched = reinterpret_cast<std::uintptr_t>(address);
  for (unsigned levels = used_levels_.load(std::memory_order_relaxed); levels != 0;
       levels &= levels - 1) {
    const auto level = static_cast<unsigned>(std::countr_zero(levels));
    const bucket& candidate = buckets_[level][bucket_number(searched >> shift_of(level))];
    if (const tracked_memory* const found = find_in(candidate, searched)) return found;
  }
  return nullptr;
}

const tracked_memory* allocation_index::find_in(const bucket& searched,
                                                std::uintptr_t address) noexcept {
  for (int attempt = 0;; ++attempt) {
    const unsigned version = searched.version.load(std::memory_order_acquire);
    const tracked_memory* found = nullptr;
    if (version % 2 == 0 && try_find(searched, version, address, found)) return found;
    // In the child of a fork, the thread that was changing the bucket does not exist.
    if (os::in_forked_child()) return nullptr;
    back_off(attempt);
  }
}

// The loads with acquire order make the version be read after the members of the entry. Without the
// test for each entry, the search might follow an entry that was moved to another bucket.
bool allocation_index::try_find(const bucket& searched, unsigned version, std::uintptr_t address,
                                const tracked_memory*& found) noexcept {
  const allocation_entry* entry = searched.first.load(std::memory_order_acquire);
  while (entry != nullptr) {
    const std::uintptr_t begin = entry->begin.load(std::memory_order_acquire);
    const bool contains = address - begin < entry->bytes.load(std::memory_order_acquire);
    const tracked_memory* const memory = entry->memory.load(std::memory_order_acquire);
    const allocation_entry* const next = entry->next.load(std::memory_order_acquire);
    if (searched.version.load(std::memory_order_relaxed) != version) return false;
    if (contains) {
      found = memory;
      return true;
    }
    entry = next;
  }
  return searched.version.load(std::memory_order_relaxed) == version;
}

}  // namespace weir::detail
