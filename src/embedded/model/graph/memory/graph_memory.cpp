// SPDX-License-Identifier: Apache-2.0
// model/graph/memory/graph_memory.cpp - frees, trims and counts the memory of graphs.
#include "embedded/model/graph/memory/graph_memory.hpp"

#include <mutex>
#include <utility>

#include "embedded/model/core/device.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/deferred_unmap.hpp"
#include "embedded/model/memory/poison.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::model::graph_memory {

using namespace abi;
using state = graph_block::state;

namespace {

// Ends a free: poisons the memory unless a launch uses it by now, and releases the block.
struct release_allocation {
  std::shared_ptr<graph_block>* block;

  void run() const noexcept {
    {
      const std::lock_guard lock{graph_memory_account::mutex()};
      if ((*block)->live_bytes == 0) poison((*block)->at, (*block)->extent);
    }
    delete block;
  }
};

}  // namespace

// The addresses stay reserved until all work submitted so far is done.
CUresult free(allocation& record, std::uintptr_t address, stream* target_stream) {
  auto block_reference = std::make_unique<std::shared_ptr<graph_block>>();
  std::shared_ptr<graph_block> block;
  std::size_t bytes = 0;
  {
    const std::lock_guard lock{graph_memory_account::mutex()};
    graph_block* const found = record.backing_block.load(std::memory_order_relaxed);
    if (found == nullptr || record.start() != address || found->status != state::live)
      return CUDA_ERROR_INVALID_VALUE;
    block = std::exchange(found->self_reference, nullptr);
    block->status = state::submitted;
    bytes = std::exchange(block->live_bytes, 0);
    (void)record.close();
  }
  *block_reference = block;
  const engine::operation last = engine::make_operation(release_allocation{block_reference.get()},
                                                        engine::operation_kind::work, true);
  engine::point until{};
  try {
    if (target_stream != nullptr) {
      until = target_stream->submit(last);
    } else {
      run_when_idle(last);
    }
  } catch (...) {
    const std::lock_guard lock{graph_memory_account::mutex()};
    block->live_bytes = bytes;
    record.open(bytes);
    block->status = state::live;
    block->self_reference = block;
    throw;
  }
  block_reference.release();
  const std::lock_guard lock{graph_memory_account::mutex()};
  block->status = state::unused;
  block->free_at = until;
  return CUDA_SUCCESS;
}

void trim(device& owner_device) noexcept {
  const std::lock_guard lock{graph_memory_account::mutex()};
  owner_device.graph_memory.trim(owner_device);
}

bool get(device& owner_device, CUgraphMem_attribute attribute, std::size_t& value) noexcept {
  const std::lock_guard lock{graph_memory_account::mutex()};
  const graph_memory_account& account = owner_device.graph_memory;
  switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT: value = account.used(owner_device); return true;
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH: value = account.used_high(owner_device); return true;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT: value = account.reserved(); return true;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH: value = account.reserved_high(); return true;
  }
  return false;
}

bool reset(device& owner_device, CUgraphMem_attribute attribute) noexcept {
  const std::lock_guard lock{graph_memory_account::mutex()};
  switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH: owner_device.graph_memory.reset_used_high(); return true;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
      owner_device.graph_memory.reset_reserved_high();
      return true;
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT: break;
  }
  return false;
}

void forget(graph_block& ending) noexcept {
  const std::lock_guard lock{graph_memory_account::mutex()};
  ending.record.backing_block.store(nullptr, std::memory_order_relaxed);
  if (ending.backed) ending.memory_device.graph_memory.remove(ending);
}

}  // namespace weir::embedded::model::graph_memory
