// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/pool/pool_range.hpp - the addresses of a pool, and the memory behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::embedded::model {

class shared_store;

// A range of addresses, divided into chunks that the pool uses or does not use. The system provides
// a page when it is first touched. The pages of unused chunks return to the system, except for a
// limited number of bytes in all pools together. A program that allocates and frees in a loop then
// reuses touched pages and avoids their page faults.
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

  // Reserves `bytes` bytes of addresses, a multiple of `chunk_bytes`. If the system has too few
  // addresses, tries half as many, and so on down to `chunk_bytes`. Returns false if even that
  // fails. Throws std::bad_alloc.
  bool reserve(std::size_t bytes, std::size_t chunk_bytes);

  // Frees the addresses.
  void unmap(shared_store* store) noexcept;

  [[nodiscard]] std::byte* address() const noexcept { return address_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  // Marks whole chunks as used. Returns false if the store cannot provide memory for them; without
  // a store it always succeeds.
  [[nodiscard]] bool commit(std::byte* address, std::size_t bytes, shared_store* store) noexcept;

  // The result of work that uses an unused chunk.
  enum class unused_access : std::uint8_t {
    allowed,  // nothing
    // The device fails with CUDA_ERROR_ILLEGAL_ADDRESS (freed_memory.hpp).
    refused
  };

  // Marks whole chunks as unused. Their contents are lost.
  void decommit(std::byte* address, std::size_t bytes, shared_store* store,
                unused_access access) noexcept;

 private:
  enum class state : std::uint8_t {
    // Private memory that is in use, was never used, or was returned to the system.
    untouched,
    unused_with_pages,  // not in use, but its pages are kept for the next use
    inaccessible,       // not in use, and without access
    in_store            // in use, with its memory in the store
  };
  void set_state(std::size_t chunk, state new_state) noexcept;
  void allow_access(std::size_t chunk) noexcept;
  void refuse_access(std::size_t chunk) noexcept;
  void keep_or_drop_pages(std::size_t chunk) noexcept;

  std::byte* address_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t chunk_bytes_ = 1;
  std::size_t touched_chunks_ = 0;  // the index of the last chunk that was ever used, plus 1
  std::vector<state> chunks_;
};

}  // namespace weir::embedded::model
