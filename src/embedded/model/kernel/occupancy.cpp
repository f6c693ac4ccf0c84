// SPDX-License-Identifier: Apache-2.0
// embedded/model/kernel/occupancy.cpp - how an H200 allocates registers and shared memory to
// blocks.
#include "embedded/model/kernel/occupancy.hpp"

#include <algorithm>

#include "embedded/model/core/context.hpp"
#include "embedded/model/kernel/function.hpp"
#include "embedded/model/kernel/launch_shape.hpp"
#include "os/pages.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

// Returns the smallest configurable shared memory size of at least `bytes` bytes.
std::size_t shared_size_for(std::size_t bytes) noexcept {
  for (const std::size_t size : limits::shared_sizes) {
    if (size >= bytes) return size;
  }
  return limits::shared_per_multiprocessor;
}

// Returns the percentage of shared memory that a function prefers.
int preferred_carveout(const function& launched) noexcept {
  const int carveout = launched.value_of(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  if (carveout != CU_SHAREDMEM_CARVEOUT_DEFAULT) return carveout;
  CUfunc_cache config = launched.cache_config();
  if (config == CU_FUNC_CACHE_PREFER_NONE)
    config = launched.owner().cache_config.load(std::memory_order_relaxed);
  switch (config) {
    case CU_FUNC_CACHE_PREFER_L1: return CU_SHAREDMEM_CARVEOUT_MAX_L1;
    case CU_FUNC_CACHE_PREFER_EQUAL: return 50;
    case CU_FUNC_CACHE_PREFER_SHARED:
    case CU_FUNC_CACHE_PREFER_NONE: break;
  }
  return CU_SHAREDMEM_CARVEOUT_MAX_SHARED;
}

// Returns the shared memory of a block, including what the driver reserves.
std::size_t shared_of_block(const block_resources& resources, std::size_t dynamic) noexcept {
  return os::round_up(resources.static_shared + dynamic + limits::shared_reserved_per_block,
                      limits::shared_granularity);
}

// Returns the largest shared memory of a block, including what the driver reserves. A function must
// opt in to more than the default.
std::size_t largest_shared(const block_resources& resources) noexcept {
  const bool opted_in =
      resources.static_shared + resources.max_dynamic_shared > limits::shared_per_block;
  return (opted_in ? limits::shared_per_block_opt_in : limits::shared_per_block) +
         limits::shared_reserved_per_block;
}

// Returns how many blocks the shared memory allows. As on an H200, a maximum of the function below
// the default size of a block does not count.
unsigned blocks_by_shared(const block_resources& resources, std::size_t dynamic) noexcept {
  const std::size_t block_bytes = shared_of_block(resources, dynamic);
  const std::size_t maximum =
      std::max<std::size_t>(resources.max_dynamic_shared, limits::shared_per_block);
  if (dynamic > maximum || block_bytes > largest_shared(resources)) return 0;
  const std::size_t available = resources.shared_memory >= block_bytes
                                    ? resources.shared_memory
                                    : shared_size_for(block_bytes);
  return static_cast<unsigned>(available / block_bytes);
}

}  // namespace

block_resources block_resources_of(const function& launched) noexcept {
  const auto percent = static_cast<std::size_t>(preferred_carveout(launched));
  return {.max_threads = launched.kernel().max_threads,
          .static_shared = launched.kernel().static_shared,
          .max_dynamic_shared = launched.max_dynamic_shared(),
          .shared_memory = shared_size_for(limits::shared_per_multiprocessor * percent / 100)};
}

// Registers do not limit the blocks further, because limits::registers_per_thread leaves enough for
// all warps.
unsigned resident_blocks(const block_resources& resources, unsigned threads,
                         std::size_t dynamic_shared) noexcept {
  if (threads == 0 || threads > limits::threads_per_block) return 0;
  const unsigned warps = os::round_up(threads, limits::warp_size) / limits::warp_size;
  return std::min({limits::blocks_per_multiprocessor, limits::warps_per_multiprocessor / warps,
                   blocks_by_shared(resources, dynamic_shared)});
}

unsigned resident_clustered_blocks(block_resources resources, unsigned threads,
                                   std::size_t dynamic_shared) noexcept {
  resources.shared_memory = shared_size_for(shared_of_block(resources, dynamic_shared));
  return resident_blocks(resources, threads, dynamic_shared);
}

bool find_dynamic_shared(const block_resources& resources, unsigned blocks, unsigned threads,
                         std::size_t& out) noexcept {
  if (blocks == 0 || resident_blocks(resources, threads, 0) < blocks) return false;
  const std::size_t maximum = largest_shared(resources);
  const std::size_t available =
      blocks == 1 ? maximum : std::max(resources.shared_memory, limits::shared_sizes[1]);
  const std::size_t block_bytes = std::min(
      available / blocks / limits::shared_granularity * limits::shared_granularity, maximum);
  out = std::min(block_bytes > resources.static_shared ? block_bytes - resources.static_shared : 0,
                 resources.max_dynamic_shared);
  return true;
}

block_choice choose_block(const block_resources& resources, CUoccupancyB2DSize shared_of,
                          std::size_t shared, unsigned largest) {
  constexpr unsigned full = limits::warps_per_multiprocessor * limits::warp_size;
  const unsigned maximum = std::min({largest != 0 ? largest : limits::threads_per_block,
                                     limits::threads_per_block, resources.max_threads});
  block_choice best;
  for (unsigned rounded = os::round_up(maximum, limits::warp_size); rounded > 0;
       rounded -= limits::warp_size) {
    const unsigned threads = std::min(rounded, maximum);
    const std::size_t dynamic =
        shared_of != nullptr ? shared_of(static_cast<int>(threads)) : shared;
    const unsigned blocks = resident_blocks(resources, threads, dynamic);
    if (blocks * threads > best.blocks * best.threads) best = {threads, blocks};
    if (best.blocks * best.threads == full) break;
  }
  return best;
}

unsigned resident_clusters(unsigned cluster, unsigned blocks_per_multiprocessor) noexcept {
  unsigned sum = 0;
  for (const unsigned group : limits::multiprocessor_groups) {
    if (group >= cluster) sum += group * blocks_per_multiprocessor / cluster;
  }
  return sum;
}

}  // namespace weir::embedded::model
