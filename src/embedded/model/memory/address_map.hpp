// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/address_map.hpp - finds the allocation that contains an address.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <shared_mutex>
#include <span>
#include <vector>

#include "embedded/model/core/thread_state.hpp"
#include "embedded/model/memory/allocation.hpp"
#include "embedded/model/memory/allocation_cache.hpp"

namespace weir::embedded::model {

// The records of all memory known to the driver, ordered by address. A record (allocation.hpp) is
// live while its memory is allocated. One map serves all devices, because they share one address
// space.
//
// Every set and copy looks up its pointers, so each thread caches the records that it found last.
// The cache needs no invalidation, because a lookup checks each cached record: a record that is
// live and holds the address is the right one.
//
// Thread safety: all members may be called from any thread.
class address_map {
 public:
  // Returns the live allocation that holds an address, or null. Costs a few loads if this thread
  // has recently found the address or its allocation.
  [[nodiscard]] static allocation* find(std::uintptr_t address) noexcept {
    thread_state* const thread = detail::this_thread_state;
    if (thread == nullptr) [[unlikely]]  // outside of driver calls
      return instance().look_up(address);
    allocation_cache& recent = thread->recent_allocations;
    if (recent.last != nullptr && recent.last->holds(address)) return recent.last;
    allocation*& cached = recent.slot_for(address);
    if (cached == nullptr || !cached->holds(address)) {
      allocation* found = instance().look_up(address);
      if (found == nullptr) return nullptr;
      cached = found;
    }
    return recent.last = cached;
  }

  // Returns the map of the process.
  static address_map& instance() noexcept;

  // Adds a record with a new ID for `extent` bytes of driver memory at `base`. The record is not
  // live until the caller calls allocation::open(). Removes records that overlap it. Such a record
  // is a registration whose memory the program has unmapped without unregistering it. Throws
  // std::bad_alloc.
  [[nodiscard]] allocation& add(std::uintptr_t base, std::size_t extent,
                                const allocation_traits& traits = {});

  // Like add(), for the memory of a graph (memory_kind::graph).
  [[nodiscard]] allocation& add_for_graph(graph_block& block);

  // Returns the record of graph memory, live or not, that holds `bytes` bytes at an address, or
  // null. Used for the operands of graph nodes, because a node may use memory that no launch has
  // allocated yet.
  [[nodiscard]] static allocation* find_graph_memory(std::uintptr_t address,
                                                     std::size_t bytes) noexcept;

  // Like add(), for registered memory of the program. If an existing record overlaps, returns null
  // and sets `conflict` to the kind of that record. Throws std::bad_alloc.
  [[nodiscard]] allocation* add_registration(std::uintptr_t base, std::size_t extent,
                                             memory_kind& conflict,
                                             const allocation_traits& traits = {});

  // Closes the live allocation of this kind that starts at `start`, so that find() no longer
  // returns it. If `id` is not 0, the allocation must have this ID. If `bytes` is not null, stores
  // the size there. The record stays in the map until remove(). Returns null if there is no such
  // allocation, or if another thread has closed it first.
  [[nodiscard]] allocation* close(std::uintptr_t start, memory_kind kind, unsigned long long id = 0,
                                  std::size_t* bytes = nullptr) noexcept;

  // Removes a record that is not live, and keeps it for reuse. A caller of close() may use the
  // record until it calls remove() or reopen(), even if add() removes it from the map meanwhile.
  void remove(allocation& record) noexcept;

  // Makes a closed allocation live again, with the size that close() stored. If add() has removed
  // it from the map meanwhile, keeps the record for reuse.
  void reopen(allocation& record, std::size_t bytes) noexcept;

  // Returns true if the `bytes` bytes from an address on lie in adjacent mappings of cuMemMap, and
  // all these mappings grant streams this access.
  [[nodiscard]] static bool is_fully_mapped(std::uintptr_t address, std::size_t bytes,
                                            abi::CUmemAccess_flags requested) noexcept;

  // Counts a removal in removals(). Called when an allocation is freed, which may be before
  // remove().
  void note_removal() noexcept { removals_.fetch_add(1, std::memory_order_release); }
  // Returns the number of allocations that were freed so far, except for those of pools and graphs.
  // Some count twice.
  [[nodiscard]] static std::uint64_t removals() noexcept {
    return instance().removals_.load(std::memory_order_acquire);
  }

  // Returns a number that is unique among allocations.
  [[nodiscard]] static unsigned long long next_id() noexcept;

  // Stores the live allocations of a context that start at `first_address` or above in `out`, by
  // ascending address. Sets `first_address` to where the next call continues. Returns the number of
  // stored allocations, which is less than out.size() only if no more follow.
  [[nodiscard]] std::size_t list_owned_by(const context& owner, std::uintptr_t& first_address,
                                          std::span<allocation*> out) const noexcept;

 private:
  [[nodiscard]] allocation* look_up(std::uintptr_t address) const noexcept;

  // The caller holds mutex_ for the following functions.
  // Returns the last record, live or not, that starts at an address or below it; null if none does.
  [[nodiscard]] allocation* find_at_or_below(std::uintptr_t address) const noexcept;
  [[nodiscard]] allocation* find_overlapping(std::uintptr_t address,
                                             std::size_t bytes) const noexcept;
  // Like insert(), but first removes all records that overlap the memory.
  allocation& replace(std::uintptr_t base, std::size_t extent, const allocation_traits& traits);
  allocation& insert(std::uintptr_t base, std::size_t extent, const allocation_traits& traits);
  // Returns false if add() has removed the record.
  [[nodiscard]] bool contains(const allocation& record) const noexcept;

  std::atomic<std::uint64_t> removals_{0};
  mutable std::shared_mutex mutex_;
  std::map<std::uintptr_t, allocation*> records_by_base_;
  std::deque<allocation> records_;  // a deque, so that records do not move
  std::vector<allocation*> free_records_;
};

}  // namespace weir::embedded::model
