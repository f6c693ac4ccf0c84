// SPDX-License-Identifier: Apache-2.0
// embedded/model/kernel/occupancy.hpp - how many blocks of a kernel an H200's multiprocessor runs
// at a time.
#pragma once

#include <cstddef>

#include "driver/abi.hpp"

namespace weir::embedded::model {

class device;
class function;

// The resources that a block of a kernel needs, and the shared memory of a multiprocessor. Sizes
// are in bytes.
struct block_resources {
  unsigned max_threads = 0;  // of a block
  std::size_t static_shared = 0;
  std::size_t max_dynamic_shared = 0;
  // The configured shared memory of a multiprocessor. If a single block needs more, a
  // multiprocessor is configured for that block instead.
  std::size_t shared_memory = 0;
};

// Returns the resources of the function's blocks. The caller holds the function's image
// (function::image()).
[[nodiscard]] block_resources block_resources_of(const function& launched) noexcept;

// Returns how many blocks of `threads` threads a multiprocessor runs at a time, or 0 if none fits.
// Also counts blocks with more threads than the kernel was compiled for, although they cannot be
// launched.
[[nodiscard]] unsigned resident_blocks(const block_resources& resources, unsigned threads,
                                       std::size_t dynamic_shared) noexcept;

// Like resident_blocks(), for blocks in clusters. Such a multiprocessor is configured with only as
// much shared memory as one block needs.
[[nodiscard]] unsigned resident_clustered_blocks(block_resources resources, unsigned threads,
                                                 std::size_t dynamic_shared) noexcept;

// Stores the largest dynamic shared memory with which a multiprocessor can run `blocks` blocks at a
// time, in bytes per block. As on an H200, the shared memory that the driver reserves for each
// block is not subtracted, so the result may be too large by that amount. Returns false if that
// many blocks do not fit even without dynamic shared memory.
[[nodiscard]] bool find_dynamic_shared(const block_resources& resources, unsigned blocks,
                                       unsigned threads, std::size_t& out) noexcept;

// The result of choose_block(): the threads of a block, and the blocks that a multiprocessor runs
// at a time.
struct block_choice {
  unsigned threads = 0;
  unsigned blocks = 0;
};
// Chooses the block size with the most resident threads; among equal ones, the largest.
// `shared_of(threads)` returns the dynamic shared memory of a block; if it is null, `shared` is
// used. `largest`: the largest size to consider, 0 for no limit. Returns 0 threads if no size fits.
[[nodiscard]] block_choice choose_block(const block_resources& resources,
                                        abi::CUoccupancyB2DSize shared_of, std::size_t shared,
                                        unsigned largest);

// Returns how many clusters of `cluster` blocks are resident on the device, if a multiprocessor
// runs `blocks_per_multiprocessor` blocks.
[[nodiscard]] unsigned resident_clusters(unsigned cluster,
                                         unsigned blocks_per_multiprocessor) noexcept;

}  // namespace weir::embedded::model
