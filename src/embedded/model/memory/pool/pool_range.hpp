// model/pool_range.hpp - the addresses of a pool, and how memory comes to them and goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::embedded::model {

class shared_store;

// A range of addresses in which memory is there where it is touched, in chunks that the pool uses
// or does not. What it no longer uses goes back to the system, but for some chunks that stay as
// they are: a program that allocates and frees in a loop meets touched pages again, and is spared a
// page fault for each of them.
//
// Memory that other processes may have lies in a store (shared_store.hpp), which is named in each
// of the calls.
//
// Not locked: its pool has a lock.
class pool_range {
 public:
  pool_range() = default;
  pool_range(const pool_range&) = delete;
  pool_range& operator=(const pool_range&) = delete;
  // No destructor: pools are never destroyed, but end.

  // Gets addresses for so many bytes, or for half of that and so on, but for `chunk_bytes` at
  // least; both are multiples of that. False where the system has none. Throws std::bad_alloc.
  bool reserve(std::size_t bytes, std::size_t chunk_bytes);

  // Gives them back.
  void drop(shared_store* in) noexcept;

  [[nodiscard]] std::byte* at() const noexcept { return at_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  // These chunks are used from here on. False where the system has no memory for that.
  [[nodiscard]] bool commit(std::byte* at, std::size_t bytes, shared_store* in) noexcept;

  // They are not used any more, and nothing in them is needed.
  void decommit(std::byte* at, std::size_t bytes, shared_store* in) noexcept;

 private:
  enum class state : std::uint8_t {
    untouched,  // in use, or never used, or given back
    warm,       // not in use, and as it was
    in_store    // in the store
  };
  void change(std::size_t chunk, state to) noexcept;

  std::byte* at_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t chunk_bytes_ = 1;
  std::size_t touched_chunks_ = 0;  // from the first to the last that was ever used
  std::vector<state> chunks_;
};

}  // namespace weir::embedded::model
