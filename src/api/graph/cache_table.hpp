// SPDX-License-Identifier: Apache-2.0
// api/graph/cache_table.hpp - the executables of a graph cache by key and context, in LRU order.
#pragma once

#include <weir/core/error.hpp>
#include <weir/detail/keep_alive.hpp>
#include <weir/graph/graph_cache.hpp>
#include <weir/graph/graph_exec.hpp>

#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <vector>

namespace weir::detail {

// An executable that the table shares with launches in progress. The release of the last reference
// destroys it.
using cached_exec = keep_alive_box<graph_exec>;

// The table of one graph cache. A body is the function that records the graph of a key; its version
// is a number that the caller of the cache passes.
//
// The lock protects only the table. It is not held while a body runs or during a driver call.
//
// Thread safety: all public members may be called from any thread.
class cache_table {
 public:
  // The state of one key in one context. While `busy` is true, one thread has a claim on the entry
  // and fills it. Other threads then change only `next`, and the members that invalidate(), erase()
  // and clear() set.
  struct entry {
    entry(const cache_key& source_key, unsigned long long context_number, std::size_t bucket_number)
        : type{*source_key.type},
          key{type.copy(source_key.value)},
          context{context_number},
          bucket{bucket_number} {}
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;
    ~entry() { type.destroy(key); }

    const cache_key_type& type;
    void* const key;
    const unsigned long long context;  // id of the context
    const std::size_t bucket;
    entry* next = nullptr;                // next entry of the same bucket
    std::list<entry>::iterator position;  // of this entry in the list that owns it

    keep_alive_ref exec;             // executable captured for this key; null: none yet
    unsigned long long version = 0;  // version of the body that `exec` was captured from
    bool ready = false;              // uses with that version may launch `exec` unless busy

    bool busy = false;            // true while a thread has a claim on the entry
    bool removed = false;         // taken out of the table; if busy, ~claim() destroys it
    bool is_invalidated = false;  // invalidate() was called since the last claim began

    [[nodiscard]] bool matches(const cache_key& searched) const {
      return type.equal(key, searched.value);
    }

    // retry_interval, remaining_skips and failed_version describe the last attempt to capture the
    // body, if it failed. After a failure the next `retry_interval` uses with that version run the
    // body without a graph. The interval doubles with each further failure of that version, up to a
    // maximum.
    unsigned retry_interval = 0;            // 0 if no attempt has failed since the last success
    unsigned remaining_skips = 0;           // uses left until the next attempt
    unsigned long long failed_version = 0;  // version of the body that failed
  };

  // Exclusive access to an entry while the caller captures its executable. The caller stores the
  // result by store_exec() or record_failure(). If it does neither, the destructor removes an entry
  // that has no earlier result.
  class claim {
   public:
    claim(cache_table& table, entry& claimed) noexcept : table_{table}, entry_{claimed} {}
    claim(const claim&) = delete;
    claim& operator=(const claim&) = delete;
    ~claim();
    // Returns the entry's executable from an earlier capture; null if there is none. The caller may
    // update it only if is_exec_in_use() returns false, because other threads may be launching it.
    [[nodiscard]] cached_exec* exec() const noexcept {
      return static_cast<cached_exec*>(entry_.exec.get());
    }
    // Returns a reference to the executable for a launch.
    [[nodiscard]] keep_alive_ref share() const noexcept { return entry_.exec; }
    // Returns true if a launch holds a reference to the executable. exec() must not be null.
    [[nodiscard]] bool is_exec_in_use() const noexcept;
    // Releases the entry's executable.
    void drop_exec() noexcept;
    // Makes `exec` the executable of the entry, captured from the body with `version`. Counts
    // `use`. Returns a reference for the launch. If invalidate() was called meanwhile, the next use
    // captures again.
    [[nodiscard]] keep_alive_ref store_exec(keep_alive_ref exec, unsigned long long version,
                                            cache_use use) noexcept;
    // Stores that the body with `version` could not be captured. Delays the next attempt, unless
    // invalidate() was called meanwhile.
    void record_failure(unsigned long long version, const error& failure) noexcept;

   private:
    cache_table& table_;
    entry& entry_;
  };

  explicit cache_table(std::size_t capacity);
  cache_table(const cache_table&) = delete;
  cache_table& operator=(const cache_table&) = delete;
  // The destructor of a key or of an executable may call code that uses the cache. It then finds a
  // table without the entry.
  ~cache_table() { clear(); }

  // Returns the executable of the key if it can be launched for `version`, and counts a replay (a
  // launch without a capture). Otherwise returns null.
  [[nodiscard]] keep_alive_ref find_ready(const cache_key& key, unsigned long long context,
                                          unsigned long long version);

  // The result of find_or_claim(). `ready` is an executable to launch. `claimed` is an entry that
  // the caller must fill through a claim. If both are null, the caller runs the body without a
  // graph.
  struct lookup_result {
    keep_alive_ref ready;
    entry* claimed = nullptr;
  };
  // Like find_ready(). If no executable can be launched, claims the entry of the key and adds it if
  // it is new. Returns no entry if another thread has claimed it, a failed attempt delays the next
  // one, or the table is full of claimed entries.
  [[nodiscard]] lookup_result find_or_claim(const cache_key& key, unsigned long long context,
                                            unsigned long long version);

  // Makes the next use of the key capture again, in every context.
  void invalidate(const cache_key& key);
  // Removes the entries of the key, in every context.
  void erase(const cache_key& key);
  void clear() noexcept;

  void record_use(cache_use use) noexcept;
  [[nodiscard]] graph_cache_counts counts() const noexcept;
  [[nodiscard]] std::optional<error> last_failure() const;

 private:
  [[nodiscard]] std::size_t bucket_of(const cache_key& key) const noexcept;
  // The caller holds lock_ for all functions from find() to increment().
  [[nodiscard]] entry* find(const cache_key& key, unsigned long long context) const;
  // Adds the only entry of `fresh` as the most recently used one. If the table is full, moves the
  // least recently used entry without a claim to `removed`. Returns false if all are claimed.
  [[nodiscard]] bool insert(std::list<entry>& fresh, std::list<entry>& removed) noexcept;
  // Takes an entry out of the table and moves it to `removed`, or to claimed_and_removed_. The
  // caller declares `removed` before it takes the lock, so that the entries are destroyed after the
  // lock is released.
  void remove(entry& victim, std::list<entry>& removed) noexcept;
  // Makes the entry the most recently used one.
  void touch(entry& used) noexcept { entries_.splice(entries_.begin(), entries_, used.position); }
  void increment(cache_use use) noexcept;

  mutable std::mutex lock_;
  const std::size_t capacity_;
  std::vector<entry*> buckets_;  // the first entry of each bucket; null if there is none
  std::list<entry> entries_;     // the most recently used entry first
  std::list<entry> claimed_and_removed_;
  graph_cache_counts counts_;  // `size` is set by counts()
  std::optional<error> last_failure_;
};

}  // namespace weir::detail
