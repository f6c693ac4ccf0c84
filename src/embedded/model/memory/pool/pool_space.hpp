// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/pool/pool_space.hpp - divides a pool's memory into blocks, and finds free
// blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "embedded/engine/operation.hpp"
#include "embedded/model/memory/allocation.hpp"
#include "embedded/model/memory/backing.hpp"
#include "embedded/model/memory/pool/reuse_policy.hpp"
#include "os/poison.hpp"

namespace weir::embedded::model {

// A piece of a pool's address range: in use, free from a point on, or uncommitted (without memory).
struct pool_block {
  enum class state : std::uint8_t { in_use, free, uncommitted };

  std::size_t offset = 0;  // in the range
  std::size_t extent = 0;  // bytes; a multiple of backing::alignment
  state status = state::uncommitted;
  // Set while it is in use, and kept afterwards for the next use with an equal extent.
  allocation* record = nullptr;
  engine::point free_at{};  // a null line: no work uses it

  pool_block* previous = nullptr;  // the neighbours in the range
  pool_block* next = nullptr;
  pool_block* older = nullptr;  // the neighbours in its list of free blocks
  pool_block* newer = nullptr;

  [[nodiscard]] std::size_t end() const noexcept { return offset + extent; }
};

// The distance between blocks in memory, in block sizes. In an address sanitizer build each block
// is followed by a poisoned gap of its own size.
inline constexpr std::size_t redzone_factor = os::asan_build ? 2 : 1;

// A range of addresses divided into blocks without gaps. Chunks of one size are committed or not.
//
// A free block keeps its extent and its record in the address map as long as possible. A stream
// that allocates and frees equal sizes in turn then gets the block again without changing either.
// Smaller blocks are split from larger ones. Adjoining free blocks are joined as needed, and the
// rest of the last one stays free from its own point on.
//
// Thread safety: none; the pool's lock guards it. Functions that throw do so before any change.
class pool_space {
 public:
  // Begins a lifetime with the whole range uncommitted. Throws std::bad_alloc.
  void open(std::byte* address, std::size_t bytes, std::size_t chunk_bytes);
  [[nodiscard]] bool is_open() const noexcept { return first_ != nullptr; }
  void close() noexcept;

  // Returns the smallest free block of at least `extent` bytes that the policy allows, or null.
  // Prefers blocks freed in the caller's own timeline, then those freed first. The block stays
  // free.
  [[nodiscard]] pool_block* find(std::size_t extent, const reuse_policy& policy) const noexcept;

  // Returns the first of adjoining free blocks that the policy allows and that together have at
  // least `extent` bytes, or null.
  [[nodiscard]] pool_block* find_adjoining(std::size_t extent,
                                           const reuse_policy& policy) const noexcept;

  // Calls visit(record) for all blocks in use.
  template <class Visitor>
  void for_each_in_use(Visitor&& visit) const {
    for (const pool_block* block = first_; block != nullptr; block = block->next) {
      if (block->status == pool_block::state::in_use) visit(*block->record);
    }
  }

  // Takes `extent` bytes from a block and, if needed, from the free blocks after it. The rest stays
  // free. The block is then in use and has a record. Throws std::bad_alloc.
  void take_block(pool_block& first, std::size_t extent);

  // Makes a block free once `until` is reached. Throws std::bad_alloc.
  void release_block(pool_block& block, engine::point until);

  // Finds the first place where `extent` bytes are available in free blocks that the policy allows
  // and in uncommitted chunks. Returns its first uncommitted block, and stores the bytes of missing
  // chunks. Returns null if the range has too few addresses.
  [[nodiscard]] pool_block* find_uncommitted(std::size_t extent, const reuse_policy& policy,
                                             std::size_t& missing) const noexcept;

  // Makes chunks at the start of an uncommitted block free. Throws std::bad_alloc.
  void commit_chunks(pool_block& uncommitted, std::size_t bytes);

  // Which frees count as complete: those that a wait of the host has observed, or also those that
  // are reached by now.
  enum class completion : std::uint8_t { known_to_host, reached };

  // Decommitted chunks, and the point at which their last use ends; a null address if there are
  // none.
  struct idle_memory {
    std::byte* address = nullptr;
    std::size_t bytes = 0;
    engine::point until{};
  };

  // Decommits a chunk whose blocks are all free, with this knowledge. If `line` is not null, frees
  // in that timeline qualify for its later work. Removes their records from the address map.
  [[nodiscard]] idle_memory decommit_idle(completion required,
                                          const engine::timeline* line) noexcept;

  // Returns true if a stream still uses memory that was decommitted for its later work.
  [[nodiscard]] bool has_uncommitted_in_use() const noexcept;

  // Calls call(block) for each free block.
  template <class Function>
  void for_each_free(Function call) const {
    for (const pool_block* block = first_; block != nullptr; block = block->next) {
      if (block->status == pool_block::state::free) call(*block);
    }
  }

  // Returns true if there is a chunk without a block in use.
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

  // There are eight bins per power of two; below the first power, one per multiple of the
  // alignment.
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
  void begin_use(const pool_block& block) noexcept;
  void end_use(const pool_block& block) noexcept;
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
  std::vector<chunk> chunks_;  // up to the last chunk that ever had memory
  std::size_t idle_chunks_ = 0;

  std::array<bin, bin_count> bins_;
  // A bit for each bin that is not empty.
  std::array<std::uint64_t, (bin_count + 63) / 64> filled_{};

  std::deque<pool_block> blocks_;  // a deque, so that blocks do not move
  std::vector<pool_block*> spare_;
};

}  // namespace weir::embedded::model
