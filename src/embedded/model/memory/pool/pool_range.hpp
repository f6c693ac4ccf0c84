// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/pool/pool_range.hpp - the addresses of a pool, and the memory behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::embedded::model {

class shared_store;

// A range of addresses, in chunks that the pool uses or not. Pages get memory when touched. Memory
// of unused chunks returns to the system, except that some chunks keep their pages. A program that
// allocates and frees in a loop then reuses touched pages and avoids their page faults.
//
// Memory that other processes may open lies in a store (shared_store.hpp), which is passed to each
// call.
//
// Thread safety: none; the pool's lock guards it.
class pool_range {
 public:
  pool_range() = default;
  pool_range(const pool_range&) = delete;
  pool_range& operator=(const pool_range&) = delete;
  // No destructor: a pool object is reused and never destroyed.

  // Reserves `bytes` bytes of addresses, or half as many, and so on down to `chunk_bytes`; both are
  // multiples of `chunk_bytes`. Returns false if the system has none. Throws std::bad_alloc.
  bool reserve(std::size_t bytes, std::size_t chunk_bytes);

  // Frees the addresses.
  void unmap(shared_store* store) noexcept;

  [[nodiscard]] std::byte* address() const noexcept { return address_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  // Marks chunks as used. Returns false if the system has no memory for them.
  [[nodiscard]] bool commit(std::byte* address, std::size_t bytes, shared_store* store) noexcept;

  // Marks chunks as unused; their contents are lost.
  void decommit(std::byte* address, std::size_t bytes, shared_store* store) noexcept;

 private:
  enum class state : std::uint8_t {
    untouched,          // in use, never used, or returned to the system
    unused_with_pages,  // not in use, with its pages kept
    in_store            // in the store
  };
  void set_state(std::size_t chunk, state new_state) noexcept;

  std::byte* address_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t chunk_bytes_ = 1;
  std::size_t touched_chunks_ = 0;  // counted up to the last chunk that was ever used
  std::vector<state> chunks_;
};

}  // namespace weir::embedded::model
