// SPDX-License-Identifier: Apache-2.0
// model/kernel/occupancy.hpp - how many blocks of a kernel an H200's multiprocessor runs at a time.
#pragma once

#include <cstddef>

#include "driver/abi.hpp"

namespace weir::embedded::model {

class device;
class function;

// The resources of a multiprocessor that blocks of a kernel need.
struct block_resources {
  unsigned max_threads = 0;  // of a block
  std::size_t static_shared = 0;
  std::size_t max_dynamic_shared = 0;
  // The multiprocessor's configured shared memory, or more if one block needs it.
  std::size_t shared_memory = 0;
  unsigned registers = 0;  // of a thread
};

// Call only while holding the function's image.
[[nodiscard]] block_resources block_resources_of(const function& launched) noexcept;

// Returns how many blocks of `threads` threads are resident at a time, or 0. Also counts blocks
// with more threads than the kernel was compiled for, although they cannot be launched.
[[nodiscard]] unsigned resident_blocks(const block_resources& resources, unsigned threads,
                                       std::size_t dynamic_shared) noexcept;

// Like resident_blocks(), for blocks of clusters. Their multiprocessor has only as much shared
// memory as one block needs.
[[nodiscard]] unsigned resident_clustered_blocks(block_resources resources, unsigned threads,
                                                 std::size_t dynamic_shared) noexcept;

// Stores the dynamic shared memory that each of `blocks` resident blocks may have, without what the
// driver reserves. Returns false if they cannot be resident together.
[[nodiscard]] bool find_dynamic_shared(const block_resources& resources, unsigned blocks,
                                       unsigned threads, std::size_t& out) noexcept;

// Chooses the block size with the most resident threads, preferring the larger of equal ones.
// `shared_of` returns a block's dynamic shared memory by its size; if null, `shared` is used.
// Returns 0 threads if no size fits.
struct block_choice {
  unsigned threads = 0;
  unsigned blocks = 0;
};
[[nodiscard]] block_choice choose_block(const block_resources& resources,
                                        abi::CUoccupancyB2DSize shared_of, std::size_t shared,
                                        unsigned largest);

// Returns how many clusters of `cluster` blocks are resident on the device, if a multiprocessor
// runs `blocks_per_multiprocessor` blocks.
[[nodiscard]] unsigned resident_clusters(unsigned cluster,
                                         unsigned blocks_per_multiprocessor) noexcept;

}  // namespace weir::embedded::model
