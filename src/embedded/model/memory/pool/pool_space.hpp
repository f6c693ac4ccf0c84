// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/pool/pool_space.hpp - divides a pool's memory into blocks, and finds free
// blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "embedded/engine/operation.hpp"
#include "embedded/model/memory/allocation.hpp"
#include "embedded/model/memory/backing.hpp"
#include "embedded/model/memory/pool/reuse_policy.hpp"
#include "os/poison.hpp"

namespace weir::embedded::model {

// A block: a part of a pool's address range. It is in use, free from a point in a timeline on, or
// uncommitted (without memory).
struct pool_block {
  enum class state : std::uint8_t { in_use, free, uncommitted };

  std::size_t offset = 0;  // in the range
  std::size_t extent = 0;  // bytes; a multiple of backing::alignment
  state status = state::uncommitted;
  // The record in the address map. Set while the block is in use. Kept when the block becomes free,
  // for the next use with an equal extent; else null.
  allocation* record = nullptr;
  // The point in a timeline at which the last use ends. A null `line` means that no work uses the
  // block.
  engine::point free_at{};

  pool_block* previous = nullptr;  // the neighbours in the range
  pool_block* next = nullptr;
  pool_block* older = nullptr;  // if free: the neighbours in its list of free blocks
  pool_block* newer = nullptr;

  [[nodiscard]] std::size_t end() const noexcept { return offset + extent; }
};

// The bytes of address space for each byte of a block. In an address sanitizer build each block is
// followed by a poisoned gap of its own size.
inline constexpr std::size_t redzone_factor = os::asan_build ? 2 : 1;

// A range of addresses divided into blocks without gaps. The range also consists of chunks of equal
// size. A committed chunk has memory.
//
// A free block keeps its extent and its record in the address map until its memory is needed
// otherwise. A stream that allocates and frees equal sizes in a loop then gets the block again
// without a change of either. An allocation may split a larger free block, or join adjoining free
// blocks. The unused rest of the last block becomes a free block with that block's `free_at`.
//
// Thread safety: none; the pool's lock guards it. A function that throws changes no block's state,
// but may have split free blocks or removed their records.
class pool_space {
 public:
  // Begins a lifetime with the whole range uncommitted. `bytes` does not include redzones. Throws
  // std::bad_alloc.
  void open(std::byte* address, std::size_t bytes, std::size_t chunk_bytes);
  [[nodiscard]] bool is_open() const noexcept { return first_ != nullptr; }
  // Ends the lifetime. All blocks must be uncommitted.
  void close() noexcept;

  // Returns a free block of at least `extent` bytes that the policy allows, or null. Prefers blocks
  // of similar size, then the smallest one. Among equal sizes, prefers blocks that were freed in
  // the policy's own timeline, then those that were freed first. The block stays free.
  [[nodiscard]] pool_block* find(std::size_t extent, const reuse_policy& policy) const noexcept;

  // Returns the first of adjoining free blocks that the policy allows and that together have at
  // least `extent` bytes, or null.
  [[nodiscard]] pool_block* find_adjoining(std::size_t extent,
                                           const reuse_policy& policy) const noexcept;

  // Calls visit(block) for all blocks in a state.
  template <class Visitor>
  void for_each(pool_block::state status, Visitor&& visit) const {
    for (const pool_block* block = first_; block != nullptr; block = block->next) {
      if (block->status == status) visit(*block);
    }
  }

  // Makes a free block in use, with exactly `extent` bytes and a record. If it is larger, the rest
  // becomes a free block. If it is smaller, takes bytes from the blocks after it, which must be
  // free, as find_adjoining() has checked. Throws std::bad_alloc.
  void take_block(pool_block& first, std::size_t extent);

  // Makes a block free. Work may still use it until the point `until` is reached. Throws
  // std::bad_alloc.
  void release_block(pool_block& block, engine::point until);

  // Finds the first sequence of adjoining blocks with `extent` bytes in total that are uncommitted,
  // or free and allowed by the policy. Returns the first uncommitted block of the sequence, and
  // stores in `missing` the bytes that must be committed. Returns null if there is no such
  // sequence, or if it needs no further memory.
  [[nodiscard]] pool_block* find_uncommitted(std::size_t extent, const reuse_policy& policy,
                                             std::size_t& missing) const noexcept;

  // Makes the first `bytes` bytes of an uncommitted block a free block. They are whole chunks, and
  // the caller has committed their memory. Throws std::bad_alloc.
  void commit_chunks(pool_block& uncommitted, std::size_t bytes);

  // Which frees count as complete. known_to_host: those that a wait of the host has observed.
  // reached: all whose point is reached by now.
  enum class completion : std::uint8_t { known_to_host, reached };

  // A decommitted chunk, and the point at which its last use ends; a null address if there is none.
  // A null `until` means that no work uses the chunk.
  struct idle_memory {
    std::byte* address = nullptr;
    std::size_t bytes = 0;
    engine::point until{};
  };

  // Decommits one chunk whose blocks are all free, with frees that `required` counts as complete.
  // If `line` is not null, frees in that timeline also qualify, complete or not. Removes the
  // records of the blocks from the address map.
  [[nodiscard]] idle_memory decommit_idle(completion required,
                                          const engine::timeline* line) noexcept;

  // Returns true if work may still use a chunk that decommit_idle() decommitted because of its
  // `line`.
  [[nodiscard]] bool has_uncommitted_in_use() const noexcept;

  // Returns true if there is a committed chunk without a block in use.
  [[nodiscard]] bool has_idle() const noexcept { return idle_chunks_ != 0; }

  [[nodiscard]] std::uintptr_t address_of(const pool_block& block) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address_) + block.offset * redzone_factor;
  }

 private:
  struct chunk {
    bool committed = false;
    std::uint32_t in_use = 0;     // blocks that overlap it
    pool_block* first = nullptr;  // the block that contains its first byte
  };

  // Free blocks of similar size that were freed in one timeline, in the order of their frees.
  struct free_list {
    engine::timeline* line;
    pool_block* oldest;
    pool_block* newest;
  };
  using bin = std::vector<free_list>;

  // A bin holds the free lists of blocks of similar extent. There are eight bins per power of two.
  // Below 2^first_power, there is one bin per multiple of backing::alignment.
  static constexpr std::size_t first_power = 12;
  static constexpr std::size_t bin_count = 8 + 8 * (47 - first_power);
  [[nodiscard]] static std::size_t bin_of(std::size_t extent) noexcept;
  [[nodiscard]] static bin::iterator find_list(bin& lists, const engine::timeline* line) noexcept;
  [[nodiscard]] static pool_block* best_fit_in(const bin& lists, std::size_t extent,
                                               const reuse_policy& policy) noexcept;

  void split_front(pool_block& first, std::size_t extent);
  pool_block& split_at(pool_block& block, std::size_t offset);
  void make_room(std::size_t extent);
  void link(pool_block& block) noexcept;
  void unlink(pool_block& block) noexcept;
  static void link_neighbours(pool_block* previous, pool_block* next) noexcept;
  void merge_uncommitted(pool_block& block) noexcept;
  static void forget_record(pool_block& block) noexcept;
  [[nodiscard]] std::span<chunk> chunks_of(const pool_block& block) noexcept;
  void join(pool_block& first, pool_block& last) noexcept;
  void decommit(std::size_t index, engine::point until);
  void update_chunk_heads(pool_block& block) noexcept;
  [[nodiscard]] bool may_decommit(std::size_t index, completion required,
                                  const engine::timeline* line,
                                  engine::point& until) const noexcept;
  [[nodiscard]] pool_block& new_block();

  std::byte* address_ = nullptr;
  std::size_t chunk_bytes_ = 1;
  pool_block* first_ = nullptr;
  std::vector<chunk> chunks_;  // from the first chunk to the last one that ever had memory
  // The number of committed chunks without a block in use.
  std::size_t idle_chunks_ = 0;

  std::array<bin, bin_count> bins_;
  // A bit for each bin that is not empty.
  std::array<std::uint64_t, (bin_count + 63) / 64> filled_{};

  std::deque<pool_block> blocks_;  // a deque, so that blocks do not move
  // Unused elements of blocks_. Has capacity for all of them, so that push_back() does not throw.
  std::vector<pool_block*> spare_;
};

}  // namespace weir::embedded::model
