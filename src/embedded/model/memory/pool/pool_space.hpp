// model/pool_space.hpp - how a pool divides its memory into blocks, and finds one that is free.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "embedded/engine/operation.hpp"
#include "embedded/model/memory/allocation.hpp"
#include "embedded/model/memory/backing.hpp"
#include "embedded/model/memory/poison.hpp"
#include "embedded/model/memory/pool/reuse_policy.hpp"

namespace weir::embedded::model {

// A piece of a pool's range of addresses: in use, free from a point on, or absent, which is to say
// without memory.
struct pool_block {
  enum class state : std::uint8_t { in_use, free, uncommitted };

  std::size_t offset = 0;  // in the range
  std::size_t extent = 0;  // bytes; multiples of backing::alignment
  state status = state::uncommitted;
  allocation* record =
      nullptr;  // while it is in use, and kept afterwards for the next of the same extent
  engine::point free_at{};  // a null line: nothing uses it

  pool_block* previous = nullptr;  // its neighbours in the range
  pool_block* next = nullptr;
  pool_block* older = nullptr;  // its neighbours in its list of free blocks
  pool_block* newer = nullptr;

  [[nodiscard]] std::size_t end() const noexcept { return offset + extent; }
};

// How far apart the blocks lie in memory, in their own sizes: under the address sanitizer each has
// as much behind it that nobody may touch.
inline constexpr std::size_t block_stride = asan_build ? 2 : 1;

// A range of addresses divided into blocks without gaps. Memory is there in chunks of one size,
// each of them or not.
//
// A free block keeps its extent, and its record in the address map, as long as it can: a stream
// that allocates and frees the same sizes in turn meets them again, and touches neither. A smaller
// one is cut out of a larger one, and of adjoining free blocks that together are large enough the
// bytes are taken as they come, so that what is left of the last one stays free from the same point
// on.
//
// Not locked: its pool has a lock. What throws does so before anything has changed.
class pool_space {
 public:
  // For a new life: all of the range is absent. Throws std::bad_alloc.
  void open(std::byte* at, std::size_t bytes, std::size_t chunk_bytes);
  [[nodiscard]] bool is_open() const noexcept { return first_ != nullptr; }
  void close() noexcept;

  // The best of the free blocks that the asker may use and that hold so many bytes: the smallest,
  // and of equal ones what was freed first, in his own timeline if there is such. Null where there
  // is none. It is still free.
  [[nodiscard]] pool_block* find(std::size_t extent, const reuse_policy& by) const noexcept;

  // The first of adjoining free blocks that he may use and that hold so many bytes together. Null
  // likewise.
  [[nodiscard]] pool_block* find_adjoining(std::size_t extent,
                                           const reuse_policy& by) const noexcept;

  // Calls visit(record) for all that is in use.
  template <class Visitor>
  void for_each_in_use(Visitor&& visit) const {
    for (const pool_block* block = first_; block != nullptr; block = block->next) {
      if (block->status == pool_block::state::in_use) visit(*block->record);
    }
  }

  // Takes so many bytes from the block and, where it holds fewer, its free neighbours behind. What
  // is left over stays free. The block is in use, and has a record. Throws std::bad_alloc.
  void take_block(pool_block& first, std::size_t extent);

  // Makes a block free from a point on. Throws std::bad_alloc.
  void release_block(pool_block& block, engine::point until);

  // The first place where so many bytes could be had of free blocks that he may use and of chunks
  // that are absent: the first of these, and how many bytes of chunks are missing there. Null where
  // the range has not so many addresses.
  [[nodiscard]] pool_block* find_uncommitted(std::size_t extent, const reuse_policy& by,
                                             std::size_t& missing) const noexcept;

  // Chunks from the beginning of an absent block are there now, and free. Throws std::bad_alloc.
  void commit_chunks(pool_block& uncommitted, std::size_t bytes);

  // Chunks that were made absent, and where the last work that uses them ends; a null address where
  // there are none.
  struct idle_memory {
    std::byte* at = nullptr;
    std::size_t bytes = 0;
    engine::point until{};
  };

  // Makes a chunk absent whose blocks are free: known to the host to be, or complete, where that
  // will do, or free for the later work of the timeline that is named, if any. Their records have
  // left the address map.
  [[nodiscard]] idle_memory decommit_idle(bool complete_will_do,
                                          const engine::timeline* by) noexcept;

  // Does a stream still use memory that was made absent for its later work?
  [[nodiscard]] bool has_uncommitted_in_use() const noexcept;

  // Calls it with each free block.
  template <class Function>
  void for_each_free(Function call) const {
    for (const pool_block* block = first_; block != nullptr; block = block->next) {
      if (block->status == pool_block::state::free) call(*block);
    }
  }

  // Is there a chunk without a block in use?
  [[nodiscard]] bool has_idle() const noexcept { return idle_chunks_ != 0; }

  [[nodiscard]] std::size_t chunk_bytes() const noexcept { return chunk_bytes_; }
  [[nodiscard]] std::uintptr_t address_of(const pool_block& block) const noexcept {
    return reinterpret_cast<std::uintptr_t>(at_) + block.offset * block_stride;
  }

 private:
  struct chunk {
    bool committed = false;
    std::uint32_t in_use = 0;     // blocks that reach into it
    pool_block* first = nullptr;  // the block that its first byte is in
  };

  // Free blocks of about one size that were freed in one timeline, in that order.
  struct free_list {
    engine::timeline* line;
    pool_block* oldest;
    pool_block* newest;
  };
  using bin = std::vector<free_list>;

  // Eight sizes to the power of two, and multiples of the alignment below the first of them.
  static constexpr std::size_t first_power = 12;
  static constexpr std::size_t bin_count = 8 + 8 * (47 - first_power);
  [[nodiscard]] static std::size_t bin_of(std::size_t extent) noexcept;
  [[nodiscard]] static pool_block* best_fit_in(const bin& lists, std::size_t extent,
                                               const reuse_policy& by) noexcept;

  void split_front(pool_block& first, std::size_t extent);
  pool_block& split_at(pool_block& block, std::size_t offset);
  void make_room(std::size_t extent);
  void link(pool_block& block) noexcept;
  void unlink(pool_block& block) noexcept;
  static void link_neighbours(pool_block* previous, pool_block* next) noexcept;
  void merge_uncommitted(pool_block& block) noexcept;
  static void forget_record(pool_block& block) noexcept;
  void count_use(const pool_block& block, bool begins) noexcept;
  void update_chunk_heads(pool_block& block) noexcept;
  [[nodiscard]] bool may_remove(const chunk& of, bool complete_will_do, const engine::timeline* by,
                                engine::point& until) const noexcept;
  [[nodiscard]] pool_block& new_block();

  std::byte* at_ = nullptr;
  std::size_t chunk_bytes_ = 1;
  pool_block* first_ = nullptr;
  std::vector<chunk> chunks_;  // as far as there has been memory
  std::size_t idle_chunks_ = 0;

  std::array<bin, bin_count> bins_;
  std::array<std::uint64_t, (bin_count + 63) / 64>
      filled_{};  // a bit for each bin that is not empty

  std::deque<pool_block> blocks_;  // a deque: they stay where they are
  std::vector<pool_block*> spare_;
};

}  // namespace weir::embedded::model
