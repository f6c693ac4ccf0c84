// SPDX-License-Identifier: Apache-2.0
// api/memory/allocation_index.hpp - finds the live allocation that contains an address.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir::detail {

class tracked_memory;

// An entry of allocation_index: a node of the list of one bucket. Entries are never freed, because
// find() may read an entry that another thread removes.
struct allocation_entry {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::size_t> bytes{0};
  std::atomic<const tracked_memory*> memory{nullptr};
  std::atomic<allocation_entry*> next{nullptr};
};

// An allocation has one or two entries. The second one is unused (its size is 0) if one suffices.
using allocation_entries = std::array<allocation_entry, 2>;

// The live allocations of weir by address.
//
// A level of the index divides the address space into regions of one size. An allocation belongs to
// the level with the smallest regions that are not smaller than the allocation, so that it overlaps
// one or two of them. Each level is a hash table whose key is the number of the region. The lookup
// tries the levels that have ever had an allocation, one bucket in each.
//
// A bucket is protected by a sequence lock: its version is odd while a thread changes it, and
// find() repeats the search if the version has changed. So find() writes no shared memory.
//
// Thread safety: all members may be called from any thread. Inserting or removing the entries of
// one allocation needs external synchronisation.
class allocation_index {
 public:
  constexpr allocation_index() noexcept = default;
  allocation_index(const allocation_index&) = delete;
  allocation_index& operator=(const allocation_index&) = delete;

  // The index of all allocations of weir.
  static allocation_index& instance() noexcept;

  // Adds an allocation. `entries` must not be in an index. Allocates no memory. If allocations
  // overlap, the lookup finds one of them.
  void insert(allocation_entries& entries, const void* address, std::size_t bytes,
              const tracked_memory& memory) noexcept;
  // Removes an allocation. Does nothing if it is not in the index.
  void remove(allocation_entries& entries) noexcept;

  // Returns the allocation that contains the address; null if there is none.
  [[nodiscard]] const tracked_memory* find(const void* address) const noexcept;

 private:
  struct bucket {
    std::atomic<unsigned> version{0};
    std::atomic<allocation_entry*> first{nullptr};
  };
  static constexpr unsigned level_count = 10;
  static constexpr unsigned bucket_bits = 12;
  // Returns the binary logarithm of the region size: 12, 16, 20 and so on.
  [[nodiscard]] static constexpr unsigned shift_of(unsigned level) noexcept {
    return 12 + 4 * level;
  }
  [[nodiscard]] static unsigned level_of(std::size_t bytes) noexcept;
  [[nodiscard]] static std::size_t bucket_number(std::uintptr_t region) noexcept;
  [[nodiscard]] bucket& bucket_of(unsigned level, std::uintptr_t region) noexcept {
    return buckets_[level][bucket_number(region)];
  }
  [[nodiscard]] static const tracked_memory* find_in(const bucket& searched,
                                                     std::uintptr_t address) noexcept;
  // Searches the list of a bucket whose version is `version`. Returns false if another thread has
  // changed the bucket; otherwise sets `found`, to null if no entry contains the address.
  [[nodiscard]] static bool try_find(const bucket& searched, unsigned version,
                                     std::uintptr_t address, const tracked_memory*& found) noexcept;
  static unsigned lock(bucket& locked) noexcept;
  static void link(bucket& changed, allocation_entry& entry) noexcept;
  static void unlink(bucket& changed, allocation_entry& entry) noexcept;

  std::atomic<unsigned> used_levels_{0};  // a bit for each level that ever had an allocation
  bucket buckets_[level_count][std::size_t{1} << bucket_bits];
};

}  // namespace weir::detail
