// SPDX-License-Identifier: Apache-2.0
// api/graph/cache_table.hpp - the executables of a graph cache by key and context, in LRU order.
#pragma once

#include <weir/core/error.hpp>
#include <weir/detail/keep_alive.hpp>
#include <weir/graph/graph_cache.hpp>
#include <weir/graph/graph_exec.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace weir::detail {

// An executable that the table shares with launches in progress. The last reference destroys it.
using cached_exec = keep_alive_box<graph_exec>;

// The lock protects the table only. It is not held while a body runs or the driver is called.
class cache_table {
 public:
  // The state of one key in one context. While `busy` is set, only the claiming thread changes the
  // entry, except for what invalidate() and erase() set.
  struct entry {
    entry(const cache_key& source_key, unsigned long long context_number)
        : type{*source_key.type}, key{type.copy(source_key.value)}, context{context_number} {}
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;
    ~entry() { type.destroy(key); }

    const cache_key_type& type;
    void* const key;
    const unsigned long long context;
    std::size_t bucket = 0;
    std::unique_ptr<entry> next;  // next entry of the same bucket
    entry* newer = nullptr;
    entry* older = nullptr;

    keep_alive_ref exec;  // captured from some body of this key; null before the first capture
    unsigned long long version = 0;  // version of that body
    bool ready = false;              // true if the next use of that version can launch it

    bool busy = false;
    bool removed = false;         // taken out of the table while busy
    bool is_invalidated = false;  // invalidated while busy

    [[nodiscard]] bool matches(const cache_key& searched) const {
      return type.equal(key, searched.value);
    }

    // The last attempt, if it produced no executable.
    unsigned retry_interval = 0;   // number of uses that skip a retry; 0 if the attempt succeeded
    unsigned remaining_skips = 0;  // number of these uses that remain
    unsigned long long failed_version = 0;
  };

  // Exclusive access to an entry that is being filled. store_exec() or record_failure() sets the
  // result. Without a result, a new entry is removed.
  class claim {
   public:
    claim(cache_table& table, entry& claimed) noexcept : table_{table}, entry_{claimed} {}
    claim(const claim&) = delete;
    claim& operator=(const claim&) = delete;
    ~claim();
    // Other threads may be launching the executable. It may be changed only if is_exec_in_use()
    // returns false.
    [[nodiscard]] cached_exec* exec() const noexcept {
      return static_cast<cached_exec*>(entry_.exec.get());
    }
    [[nodiscard]] keep_alive_ref share() const noexcept { return entry_.exec; }
    [[nodiscard]] bool is_exec_in_use() const noexcept;
    void drop_exec() noexcept;
    // Makes `exec` the executable of `version`. Returns a reference for the launch.
    [[nodiscard]] keep_alive_ref store_exec(keep_alive_ref exec, unsigned long long version,
                                            cache_use use) noexcept;
    void record_failure(unsigned long long version, const error& failure) noexcept;

   private:
    cache_table& table_;
    entry& entry_;
  };

  explicit cache_table(std::size_t capacity);
  cache_table(const cache_table&) = delete;
  cache_table& operator=(const cache_table&) = delete;
  ~cache_table() { clear(); }

  // Returns the executable if it exists and is ready, and counts a replay. Else returns null.
  [[nodiscard]] keep_alive_ref find_ready(const cache_key& key, unsigned long long context,
                                          unsigned long long version);

  // Like find_ready(). If no executable is ready, claims the entry for the caller to fill. Returns
  // neither if the caller has to run the body without a graph.
  struct lookup_result {
    keep_alive_ref ready;
    entry* claimed = nullptr;
  };
  [[nodiscard]] lookup_result find_or_claim(const cache_key& key, unsigned long long context,
                                            unsigned long long version);

  void invalidate(const cache_key& key);
  void erase(const cache_key& key);
  void clear() noexcept;

  void record_use(cache_use use) noexcept;
  [[nodiscard]] graph_cache_counts counts() const noexcept;
  [[nodiscard]] std::optional<error> last_failure() const;

 private:
  // Entries taken out of the table, linked by `next`. Declared before the lock is taken, so that
  // they are destroyed after its release.
  struct removed_entries {
    std::unique_ptr<entry> first;
    ~removed_entries() {
      while (first != nullptr)
        first = std::move(first->next);  // iterative, because a list may have thousands of entries
    }
  };

  // The functions below require the lock.
  [[nodiscard]] std::size_t bucket_of(const cache_key& key) const noexcept;
  [[nodiscard]] entry* find(const cache_key& key, unsigned long long context) const;
  [[nodiscard]] bool insert(std::unique_ptr<entry>& fresh, removed_entries& removed) noexcept;
  void remove(entry& victim, removed_entries& removed) noexcept;
  void touch(entry& used) noexcept;
  void link(entry& newest) noexcept;
  void unlink(entry& victim) noexcept;
  void increment(cache_use use) noexcept;

  mutable std::mutex lock_;
  const std::size_t capacity_;
  std::vector<std::unique_ptr<entry>> buckets_;
  entry* newest_ = nullptr;
  entry* oldest_ = nullptr;
  graph_cache_counts counts_;
  std::optional<error> last_failure_;
};

}  // namespace weir::detail
