// model/address_map.hpp - from an address to the allocation that holds it.
#pragma once

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

// All memory that the driver knows, ordered by address. There is one, shared by all devices,
// because they share one range of addresses.
//
// Every set and copy asks it about its pointers, so each thread remembers where it found the last
// ones. What it remembers need not be told of changes: a live record that holds the address is the
// answer, however it was found.
//
// Thread safety: all members, from any thread.
class address_map {
 public:
  // The live allocation that holds an address; null where there is none. A few loads where this
  // thread has met the address, or its allocation, lately.
  [[nodiscard]] static allocation* find(std::uintptr_t address) noexcept {
    thread_state* const thread = detail::this_thread_state;
    if (thread == nullptr) [[unlikely]]  // not in a call of the driver
      return instance().look_up(address);
    allocation_cache& recent = thread->recent_allocations;
    if (recent.last != nullptr && recent.last->holds(address)) return recent.last;
    allocation*& cached = recent.at(address);
    if (cached == nullptr || !cached->holds(address)) {
      allocation* found = instance().look_up(address);
      if (found == nullptr) return nullptr;
      cached = found;
    }
    return recent.last = cached;
  }

  static address_map& instance() noexcept;

  // Adds a record for `extent` bytes of our own from `base`, not live yet, with a new id.
  // Registrations there end: the program gave that memory back without a word, or it could not be
  // ours. Throws std::bad_alloc.
  [[nodiscard]] allocation& add(std::uintptr_t base, std::size_t extent);

  // The same for memory of a graph, which comes and goes in it.
  [[nodiscard]] allocation& add_for_graph(graph_block& block);

  // The record of a graph's memory, live or not, that holds so many bytes from an address; null
  // where there is none. For what will run only when a graph does.
  [[nodiscard]] static allocation* find_graph_memory(std::uintptr_t address,
                                                     std::size_t bytes) noexcept;

  // The same for memory of the program. Null where a record overlaps it, whose kind is told. Throws
  // std::bad_alloc.
  [[nodiscard]] allocation* add_registration(std::uintptr_t base, std::size_t extent,
                                             memory_kind& conflict);

  // Ends the live allocation of a kind (and of an id, unless that is 0) that starts at an address,
  // which stays known until remove(). Null where there is none, also because another thread was
  // faster. Tells how many bytes it had.
  [[nodiscard]] allocation* close(std::uintptr_t start, memory_kind kind, unsigned long long id = 0,
                                  std::size_t* bytes = nullptr) noexcept;

  // Takes a record out that is not live any more, and keeps it for reuse.
  void remove(allocation& record) noexcept;

  // Do `bytes` bytes from an address lie in mappings side by side that all let streams do this?
  [[nodiscard]] static bool is_fully_mapped(std::uintptr_t address, std::size_t bytes,
                                            abi::CUmemAccess_flags wanted) noexcept;

  // A number that no other allocation has.
  [[nodiscard]] static unsigned long long next_id() noexcept;

  // The next live allocations that belong to a context, from an address on, which is moved behind
  // them. How many they are: fewer than asked for where there are no more.
  [[nodiscard]] std::size_t owned_by(const context& owner, std::uintptr_t& from,
                                     std::span<allocation*> out) const noexcept;

 private:
  [[nodiscard]] allocation* look_up(std::uintptr_t address) const noexcept;

  // With the lock held.
  [[nodiscard]] allocation* overlapping(std::uintptr_t from, std::size_t bytes) const noexcept;
  allocation& replace(std::uintptr_t base, std::size_t extent);
  allocation& insert(std::uintptr_t base, std::size_t extent);
  void erase(allocation& record) noexcept;

  mutable std::shared_mutex mutex_;
  std::map<std::uintptr_t, allocation*> by_base_;
  std::deque<allocation> records_;  // a deque: records stay where they are
  std::vector<allocation*> free_;
};

}  // namespace weir::embedded::model
