// SPDX-License-Identifier: Apache-2.0
// embedded/model/graph/memory/graph_memory.cpp - frees the memory of graphs.
#include "embedded/model/graph/memory/graph_memory.hpp"

#include <mutex>
#include <utility>

#include "embedded/model/core/device.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/deferred_operation.hpp"
#include "embedded/model/stream/stream.hpp"
#include "os/poison.hpp"

namespace weir::embedded::model::graph_memory {

using namespace abi;
using state = graph_block::state;

namespace {

// The operation that ends a free. Poisons the memory unless a later launch has allocated it
// meanwhile, then releases the block.
struct release_allocation {
  std::shared_ptr<graph_block>* block;

  void run() const noexcept {
    {
      const std::lock_guard lock{graph_memory_account::mutex()};
      if ((*block)->live_bytes == 0) os::poison((*block)->start, (*block)->extent);
    }
    delete block;
  }
};

// Closes the live allocation that starts at an address, and stores its block. Returns the size of
// the allocation, or 0 if there is none.
std::size_t close_allocation(allocation& record, std::uintptr_t address,
                             std::shared_ptr<graph_block>& block) noexcept {
  const std::lock_guard lock{graph_memory_account::mutex()};
  graph_block* const found = record.backing_block.load(std::memory_order_relaxed);
  if (found == nullptr || record.start() != address || found->status != state::live) return 0;
  block = std::exchange(found->self_reference, nullptr);
  block->status = state::submitted;
  (void)record.close();
  return std::exchange(block->live_bytes, 0);
}

// Undoes close_allocation().
void reopen_allocation(allocation& record, const std::shared_ptr<graph_block>& block,
                       std::size_t bytes) noexcept {
  const std::lock_guard lock{graph_memory_account::mutex()};
  block->live_bytes = bytes;
  record.open(bytes);
  block->status = state::live;
  block->self_reference = block;
}

}  // namespace

// Without a stream, the operation release_allocation runs when all work submitted so far is
// complete. The operation's reference to the block keeps the addresses reserved until then.
CUresult free(allocation& record, std::uintptr_t address, stream* target_stream) {
  auto block_reference = std::make_unique<std::shared_ptr<graph_block>>();
  std::shared_ptr<graph_block> block;
  const std::size_t bytes = close_allocation(record, address, block);
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  *block_reference = block;
  const engine::operation release =
      engine::make_unconditional_operation(release_allocation{block_reference.get()});
  engine::point until{};
  try {
    if (target_stream != nullptr) {
      until = target_stream->submit(release);
    } else {
      run_when_idle(release);
    }
  } catch (...) {
    reopen_allocation(record, block, bytes);
    throw;
  }
  block_reference.release();
  const std::lock_guard lock{graph_memory_account::mutex()};
  block->status = state::unused;
  block->free_at = until;
  block->counts_until_trim = true;
  return CUDA_SUCCESS;
}

}  // namespace weir::embedded::model::graph_memory
