// SPDX-License-Identifier: Apache-2.0
// api/memory/pinned_cache.hpp - pinned memory that has no owner, kept for the next request.
#pragma once

#include "api/memory/recycled_memory.hpp"
#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/device/device.hpp>

#include <array>
#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

namespace weir::detail {

// One allocation of pinned memory, of recycled_memory::bytes bytes.
struct pinned_block final : recycled_memory {
  pinned_block(weir::device owner_device, CUcontext owner_context, std::size_t size) noexcept;

  void* address = nullptr;
  weir::device gpu;
  CUcontext context;
  // The driver's number of the allocation, which is never reused. 0 if the driver returned none:
  // the block is not kept then.
  unsigned long long id = 0;
  unsigned long long order = 0;  // in which the blocks were kept last
};

// Blocks of pinned memory that have no owner. Allocating and freeing pinned memory takes long, and
// a free waits for the whole device. So a block is kept for the next pinned_buffer of about its
// size.
//
// Thread safety: all members may be called from any thread.
class pinned_cache {
 public:
  // What the process keeps at most, in bytes, counting at least a page for each block: as much
  // without uses, and as much that streams still use. A larger block is never kept.
  static constexpr std::size_t max_bytes = std::size_t{64} << 20U;

  // Returns the cache of the process, which is never destroyed.
  [[nodiscard]] static pinned_cache& instance() noexcept;

  // Returns a block of at least `bytes` bytes in the primary context of `gpu`: a kept one of at
  // most twice the size, or a new one. Driver: cuPointerGetAttribute or cuMemHostAlloc.
  [[nodiscard]] pinned_block& allocate(weir::device gpu, std::size_t bytes, unsigned flags,
                                       call_site at);

  // Called when the owner of the block ends. Keeps the block when its uses are done. Makes no
  // driver call if it has none.
  void recycle(pinned_block& block, ended_uses uses) noexcept;

  // Frees all blocks that have no uses, on the thread for blocking calls.
  void trim() noexcept;

 private:
  // Blocks by size, four lists for each power of two. The blocks of a list are in the order in
  // which they were kept.
  using block_lists = std::array<std::vector<pinned_block*>, 128>;

  [[nodiscard]] pinned_block* take(weir::device gpu, std::size_t bytes) noexcept;
  void keep(pinned_block& block) noexcept;
  static void finish(recycled_memory& memory, use_state state) noexcept;
  // The caller holds lock_ for the following functions.
  [[nodiscard]] pinned_block* take_from(std::vector<pinned_block*>& list,
                                        std::size_t bytes) noexcept;
  [[nodiscard]] pinned_block* remove_oldest() noexcept;

  std::mutex lock_;
  std::map<int, block_lists> lists_;  // for each device
  std::size_t kept_bytes_ = 0;
  unsigned long long order_ = 0;
};

// Frees the block. Waits for the whole device. Driver: cuMemFreeHost.
void free_block(pinned_block& block, first_failure& failure) noexcept;

}  // namespace weir::detail
