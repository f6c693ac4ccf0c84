// model/occupancy.hpp - how many blocks of a kernel a multiprocessor has at a time: an H200's.
#pragma once

#include <cstddef>

#include "driver/abi.hpp"

namespace weir::embedded::model {

class device;
class function;

// What blocks of a kernel take of a multiprocessor.
struct block_resources {
  unsigned max_threads = 0;  // of a block
  std::size_t static_shared = 0;
  std::size_t max_dynamic_shared = 0;
  std::size_t shared_memory =
      0;  // that the multiprocessor is to have, as far as one block of the kernel will do with it
  unsigned registers = 0;  // of a thread
};

// Of a function, whose image one has.
[[nodiscard]] block_resources block_resources_of(const function& of) noexcept;

// How many blocks of so many threads are there at a time; 0 where there can be none. More than the
// kernel was compiled for are counted, though they cannot be launched.
[[nodiscard]] unsigned resident_blocks(const block_resources& of, unsigned threads,
                                       std::size_t dynamic_shared) noexcept;

// The same for blocks of clusters, for which a multiprocessor has no more shared memory than one of
// them takes.
[[nodiscard]] unsigned resident_clustered_blocks(block_resources of, unsigned threads,
                                                 std::size_t dynamic_shared) noexcept;

// The dynamic shared memory that each of so many blocks may have so that all are there at a time,
// but for what the driver keeps of it. False where they cannot be.
[[nodiscard]] bool find_dynamic_shared(const block_resources& of, unsigned blocks, unsigned threads,
                                       std::size_t& out) noexcept;

// The size of a block that has the most threads there at a time, the larger one where two do, and
// how many blocks there are then. `shared_of` tells the dynamic shared memory of a block, null
// where that is `shared` for all. 0 threads where there is no such size.
struct block_choice {
  unsigned threads = 0;
  unsigned blocks = 0;
};
[[nodiscard]] block_choice choose_block(const block_resources& of,
                                        abi::CUoccupancyB2DSize shared_of, std::size_t shared,
                                        unsigned largest);

// How many clusters of so many blocks the whole device has at a time, when a multiprocessor has so
// many blocks.
[[nodiscard]] unsigned resident_clusters(unsigned cluster,
                                         unsigned blocks_per_multiprocessor) noexcept;

}  // namespace weir::embedded::model
