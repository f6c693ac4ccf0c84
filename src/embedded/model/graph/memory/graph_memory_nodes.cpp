// SPDX-License-Identifier: Apache-2.0
// embedded/model/graph/memory/graph_memory_nodes.cpp - adds allocation and free nodes, and computes
// what a launch leaves allocated and frees.
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

// The number of direct and indirect dependencies of a new node that are searched for a free node.
constexpr std::size_t max_candidates = 64;

// Allocation nodes up to this size can be added even if the device has less memory, because an H200
// checks the device's memory only at the launch. A larger allocation node can be added only if the
// device's memory is at least as large. The limit stands for the limit of addresses on an H200.
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

// Returns a block of the graph that a new node with these predecessors can reuse, or null. A
// dependency of the new node frees the block. The block has at least `bytes` bytes and the
// requested device and users.
std::shared_ptr<graph_block> find_freed(const graph& target_graph, const device& target_device,
                                        std::size_t bytes, std::uint64_t users,
                                        std::span<graph_node* const> predecessors) {
  const std::size_t owning_graph = target_graph.number();
  std::vector<const graph_node*> candidates;
  const auto append_nodes = [&](std::span<graph_node* const> nodes) {
    for (const graph_node* node : nodes) {
      if (candidates.size() < max_candidates &&
          std::ranges::find(candidates, node) == candidates.end())
        candidates.push_back(node);
    }
  };
  append_nodes(predecessors);
  for (std::size_t i = 0; i < candidates.size(); ++i) {  // NOLINT(modernize-loop-convert): it grows
    const auto* const freed = std::get_if<free_params>(&candidates[i]->params);
    if (freed != nullptr && freed->block->owning_graph == owning_graph &&
        freed->block->freed_by == candidates[i]->handle() &&
        &freed->block->memory_device == &target_device && freed->block->users == users &&
        freed->block->bytes >= bytes) {
      return freed->block;
    }
    append_nodes(candidates[i]->dependencies.all());
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

// The number of nodes in a graph that allocate and that free one block.
struct allocation_counts {
  std::shared_ptr<graph_block> block;
  int allocated = 0, freed = 0;
  std::size_t bytes = 0;  // of the last allocation
};

// The counts of all blocks, in the order in which they were found.
class allocation_counter {
 public:
  allocation_counts& operator[](const std::shared_ptr<graph_block>& block) {
    const auto [found, is_new] = indices_.try_emplace(block.get(), counts.size());
    if (is_new) counts.push_back({.block = block});
    return counts[found->second];
  }

  std::vector<allocation_counts> counts;

 private:
  std::unordered_map<const graph_block*, std::size_t> indices_;
};

void count(const graph& source_graph, allocation_counter& counter) {
  for (const graph_node* node : source_graph.nodes()) {
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
  // A body is accepted here, because instantiation refuses its allocation nodes.
  if (target_graph.is_subgraph() && !target_graph.is_body()) return CUDA_ERROR_NOT_SUPPORTED;
  target_graph.set_has_memory_nodes();
  device& target_device = *this_process().find_device(params.poolProps.location.id);
  if (params.bytesize > std::max(target_device.total_memory(), max_bytes))
    return CUDA_ERROR_OUT_OF_MEMORY;
  const std::uint64_t users = users_of(target_device, params);
  std::shared_ptr<graph_block> block =
      find_freed(target_graph, target_device, params.bytesize, users, predecessors);
  if (block == nullptr) block = graph_block::create(target_device, params.bytesize, users);
  if (block == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  alloc_params created{
      block, params, {params.accessDescs, params.accessDescs + params.accessDescCount}};
  created.desc.dptr = block->address();
  out = &target_graph.add(std::move(created), predecessors);
  block->owning_graph = target_graph.number();
  block->freed_by = nullptr;
  return CUDA_SUCCESS;
}

CUresult add_free(graph& target_graph, CUdeviceptr address,
                  std::span<graph_node* const> predecessors, graph_node*& out) {
  // A body is accepted here, as in add_allocation().
  if (target_graph.is_subgraph() && !target_graph.is_body()) return CUDA_ERROR_NOT_SUPPORTED;
  target_graph.set_has_memory_nodes();
  const std::shared_ptr<graph_block> block = find_block(address);
  if (block == nullptr || block->freed_by != nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t graph_number = target_graph.number();
  const bool in_owning_graph = block->owning_graph == graph_number;
  if (in_owning_graph ? block->instantiated || !block->freed_in.empty()
                      : std::ranges::find(block->freed_in, graph_number) != block->freed_in.end()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!in_owning_graph) block->freed_in.reserve(block->freed_in.size() + 1);
  out = &target_graph.add(free_params{block}, predecessors);
  if (in_owning_graph) {
    block->freed_by = out->handle();
  } else {
    block->freed_in.push_back(graph_number);
  }
  return CUDA_SUCCESS;
}

graph_memory_usage usage_of(const graph& source_graph) {
  graph_memory_usage usage;
  if (!source_graph.has_memory_nodes()) return usage;
  allocation_counter counter;
  count(source_graph, counter);
  for (allocation_counts& counts : counter.counts) {
    if (counts.allocated == counts.freed) {
      usage.internal.push_back(std::move(counts.block));
    } else if (counts.allocated > counts.freed) {
      usage.leftovers.push_back({std::move(counts.block), counts.bytes});
    } else {
      usage.freed.push_back(std::move(counts.block));
    }
  }
  return usage;
}

}  // namespace weir::embedded::model::graph_memory
