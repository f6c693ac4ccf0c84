// SPDX-License-Identifier: Apache-2.0
// model/graph/memory/graph_memory_nodes.cpp - adds memory nodes, and computes their net effect.
#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "embedded/model/core/device.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/graph/graph.hpp"
#include "embedded/model/graph/memory/graph_memory.hpp"
#include "embedded/model/memory/address_map.hpp"

namespace weir::embedded::model::graph_memory {

using namespace abi;

namespace {

// The number of preceding nodes that are searched for freed memory.
constexpr std::size_t max_candidates = 64;

// The size limit of a node, whatever the device has: as on an H200, the launch fails if there is
// too little memory. An H200 also has a limit of addresses.
constexpr std::size_t max_bytes = (std::size_t{1} << 39) - 1;

// Returns the devices that may use a node's memory: its own, and those with granted access.
std::uint64_t users_of(const device& target_device, const CUDA_MEM_ALLOC_NODE_PARAMS& params) {
  std::uint64_t users = std::uint64_t{1} << target_device.ordinal();
  for (const CUmemAccessDesc& access_desc : std::span{params.accessDescs, params.accessDescCount}) {
    if (access_desc.location.type == CU_MEM_LOCATION_TYPE_DEVICE)
      users |= std::uint64_t{1} << access_desc.location.id;
  }
  return users;
}

// Returns a block of at least `bytes` bytes with equal users that is free before the new node, or
// null.
std::shared_ptr<graph_block> find_freed(const graph& in, const device& target_device,
                                        std::size_t bytes, std::uint64_t users,
                                        std::span<graph_node* const> predecessors) {
  const CUgraph owning_graph = in.handle();
  std::vector<const graph_node*> before;
  const auto look_at = [&](std::span<graph_node* const> nodes) {
    for (const graph_node* node : nodes) {
      if (before.size() < max_candidates && std::ranges::find(before, node) == before.end())
        before.push_back(node);
    }
  };
  look_at(predecessors);
  for (std::size_t i = 0; i < before.size(); ++i) {  // NOLINT(modernize-loop-convert): it grows
    const auto* const freed = std::get_if<free_params>(&before[i]->params);
    if (freed != nullptr && freed->block->owning_graph == owning_graph &&
        freed->block->freed_by == before[i]->handle() &&
        &freed->block->memory_device == &target_device && freed->block->users == users &&
        freed->block->bytes >= bytes) {
      return freed->block;
    }
    look_at(before[i]->dependencies.all());
  }
  return nullptr;
}

// Returns the block that begins at an address, or null.
std::shared_ptr<graph_block> find_block(CUdeviceptr address) {
  const std::lock_guard lock{graph_memory_account::mutex()};
  const allocation* const record = address_map::find_graph_memory(address, 1);
  if (record == nullptr || record->start() != address) return nullptr;
  graph_block* const found = record->backing_block.load(std::memory_order_relaxed);
  return found == nullptr ? nullptr : found->weak_from_this().lock();
}

// How often nodes allocate and free a block.
struct allocation_counts {
  std::shared_ptr<graph_block> block;
  int allocated = 0, freed = 0;
  std::size_t bytes = 0;  // of the last allocation
};

// The counts of all blocks, in the order in which they were found.
class allocation_counter {
 public:
  allocation_counts& operator[](const std::shared_ptr<graph_block>& block) {
    const auto [found, is_new] = numbers_.try_emplace(block.get(), all.size());
    if (is_new) all.push_back({.block = block});
    return all[found->second];
  }

  std::vector<allocation_counts> all;

 private:
  std::unordered_map<const graph_block*, std::size_t> numbers_;
};

void count(const graph& in, allocation_counter& counter) {
  for (const graph_node* node : in.nodes()) {
    if (const auto* created = std::get_if<alloc_params>(&node->params)) {
      allocation_counts& counts = counter[created->block];
      counts.bytes = created->desc.bytesize;
      ++counts.allocated;
    } else if (const auto* freed = std::get_if<free_params>(&node->params)) {
      ++counter[freed->block].freed;
    } else if (const auto* child = std::get_if<child_params>(&node->params)) {
      if (child->subgraph->has_memory_nodes()) count(*child->subgraph, counter);
    }
  }
}

}  // namespace

CUresult add_allocation(graph& target_graph, const CUDA_MEM_ALLOC_NODE_PARAMS& params,
                        std::span<graph_node* const> predecessors, graph_node*& out) {
  // A body is rejected at instantiation.
  if (target_graph.is_subgraph() && !target_graph.is_body()) return CUDA_ERROR_NOT_SUPPORTED;
  device& target_device = *this_process().find_device(params.poolProps.location.id);
  if (params.bytesize > std::max(target_device.total_memory(), max_bytes))
    return CUDA_ERROR_OUT_OF_MEMORY;
  const std::uint64_t users = users_of(target_device, params);
  std::shared_ptr<graph_block> block =
      find_freed(target_graph, target_device, params.bytesize, users, predecessors);
  if (block == nullptr) block = graph_block::make(target_device, params.bytesize, users);
  if (block == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  alloc_params created{
      block, params, {params.accessDescs, params.accessDescs + params.accessDescCount}};
  created.desc.dptr = block->address();
  out = &target_graph.add(std::move(created), predecessors);
  block->owning_graph = target_graph.handle();
  block->freed_by = nullptr;
  target_graph.set_has_memory_nodes();
  return CUDA_SUCCESS;
}

CUresult add_free(graph& target_graph, CUdeviceptr address,
                  std::span<graph_node* const> predecessors, graph_node*& out) {
  const std::shared_ptr<graph_block> block = find_block(address);
  if (block == nullptr || block->freed_by != nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUgraph in = target_graph.handle();
  const bool in_owning_graph = block->owning_graph == in;
  if (in_owning_graph ? !block->freed_in.empty()
                      : std::ranges::find(block->freed_in, in) != block->freed_in.end()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (target_graph.is_subgraph() && !target_graph.is_body()) return CUDA_ERROR_NOT_SUPPORTED;
  if (!in_owning_graph) block->freed_in.reserve(block->freed_in.size() + 1);
  out = &target_graph.add(free_params{block}, predecessors);
  if (in_owning_graph) {
    block->freed_by = out->handle();
  } else {
    block->freed_in.push_back(in);
  }
  target_graph.set_has_memory_nodes();
  return CUDA_SUCCESS;
}

graph_memory_usage use_of(const graph& whole) {
  graph_memory_usage use;
  if (!whole.has_memory_nodes()) return use;
  allocation_counter counter;
  count(whole, counter);
  for (allocation_counts& counts : counter.all) {
    if (counts.allocated == counts.freed) {
      use.internal.push_back(std::move(counts.block));
    } else if (counts.allocated > counts.freed) {
      use.leftovers.push_back({std::move(counts.block), counts.bytes});
    } else {
      use.freed.push_back(std::move(counts.block));
    }
  }
  return use;
}

}  // namespace weir::embedded::model::graph_memory
