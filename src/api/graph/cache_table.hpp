// api/graph/cache_table.hpp - the executables of a graph cache, by key and context, in the order of
// their use.
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

// An executable, shared by the table and the launches that are being made: the last of them
// destroys it.
using cached_exec = keep_alive_box<graph_exec>;

// The lock is held for looks and changes of the table only: neither bodies nor driver calls are
// made with it.
class cache_table {
 public:
  // What is known of a key in a context. While it is busy it belongs to the one who claimed it, but
  // for what invalidate() and erase() leave to him.
  struct entry {
    entry(const cache_key& of, unsigned long long in)
        : type{*of.type}, key{type.copy(of.value)}, context{in} {}
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;
    ~entry() { type.destroy(key); }

    const cache_key_type& type;
    void* const key;
    const unsigned long long context;
    std::size_t bucket = 0;
    std::unique_ptr<entry> next;  // in the same bucket
    entry* newer = nullptr;
    entry* older = nullptr;

    keep_alive_ref exec;             // of some body of this key; null before there was one
    unsigned long long version = 0;  // of that body
    bool ready = false;              // is it what the next use of that version wants?

    bool busy = false;
    bool removed = false;         // taken out of the table meanwhile
    bool is_invalidated = false;  // invalidated meanwhile

    [[nodiscard]] bool matches(const cache_key& other) const {
      return type.equal(key, other.value);
    }

    // Of the last attempt, if that gave no executable.
    unsigned retry_interval = 0;  // so many uses do not try again; 0 if it gave one
    unsigned skips_left = 0;      // of which there are so many left
    unsigned long long failed_version = 0;
  };

  // Of an entry that is being filled. What becomes of it is told; else it ends as if it had not
  // been.
  class claim {
   public:
    claim(cache_table& table, entry& claimed) noexcept : table_{table}, entry_{claimed} {}
    claim(const claim&) = delete;
    claim& operator=(const claim&) = delete;
    ~claim();
    // What there is may be launched by others who got it before; if not, it may be changed.
    [[nodiscard]] cached_exec* exec() const noexcept {
      return static_cast<cached_exec*>(entry_.exec.get());
    }
    [[nodiscard]] keep_alive_ref share() const noexcept { return entry_.exec; }
    [[nodiscard]] bool is_exec_in_use() const noexcept;
    void drop_exec() noexcept;
    // It is what that version wants from now on. The answer is a share for the launch.
    [[nodiscard]] keep_alive_ref store_exec(keep_alive_ref exec, unsigned long long version,
                                            cache_use how) noexcept;
    void record_failure(unsigned long long version, const error& why) noexcept;

   private:
    cache_table& table_;
    entry& entry_;
  };

  explicit cache_table(std::size_t capacity);
  cache_table(const cache_table&) = delete;
  cache_table& operator=(const cache_table&) = delete;
  ~cache_table() { clear(); }

  // The executable, if it is there and ready; counted as replayed.
  [[nodiscard]] keep_alive_ref find_ready(const cache_key& key, unsigned long long context,
                                          unsigned long long version);

  // The same; else an entry that is the caller's to fill; or neither, where its body is to run as
  // it is.
  struct lookup_result {
    keep_alive_ref ready;
    entry* claimed = nullptr;
  };
  [[nodiscard]] lookup_result find_or_claim(const cache_key& key, unsigned long long context,
                                            unsigned long long version);

  void invalidate(const cache_key& key);
  void erase(const cache_key& key);
  void clear() noexcept;

  void record_use(cache_use how) noexcept;
  [[nodiscard]] graph_cache_counts counts() const noexcept;
  [[nodiscard]] std::optional<error> last_failure() const;

 private:
  // Entries that are taken out, linked by `next`. Declared before the lock is taken, so that they
  // end without it.
  struct removed_entries {
    std::unique_ptr<entry> first;
    ~removed_entries() {
      while (first != nullptr)
        first = std::move(first->next);  // one by one: there may be thousands
    }
  };

  // All with the lock held.
  [[nodiscard]] std::size_t bucket_of(const cache_key& key) const noexcept;
  [[nodiscard]] entry* find(const cache_key& key, unsigned long long context) const;
  [[nodiscard]] bool insert(std::unique_ptr<entry>& fresh, removed_entries& removed) noexcept;
  void remove(entry& victim, removed_entries& removed) noexcept;
  void touch(entry& used) noexcept;
  void link(entry& newest) noexcept;
  void unlink(entry& victim) noexcept;
  void increment(cache_use how) noexcept;

  mutable std::mutex lock_;
  const std::size_t capacity_;
  std::vector<std::unique_ptr<entry>> buckets_;
  entry* newest_ = nullptr;
  entry* oldest_ = nullptr;
  graph_cache_counts counts_;
  std::optional<error> last_failure_;
};

}  // namespace weir::detail
