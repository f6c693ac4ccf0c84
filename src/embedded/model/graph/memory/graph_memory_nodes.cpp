// model/graph_memory_nodes.cpp - nodes that allocate and free, and what they come to in a whole
// graph.
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

// So many nodes before a new one are looked at for memory that they free.
constexpr std::size_t max_candidates = 64;

// So large a node may be, whatever the device has: as on an H200, it is the launch that finds no
// memory. There, too, the addresses end somewhere.
constexpr std::size_t max_bytes = (std::size_t{1} << 39) - 1;

// The devices that may use what a node allocates: its own, and those that it lets in.
std::uint64_t users_of(const device& on, const CUDA_MEM_ALLOC_NODE_PARAMS& params) {
  std::uint64_t users = std::uint64_t{1} << on.ordinal();
  for (const CUmemAccessDesc& each : std::span{params.accessDescs, params.accessDescCount}) {
    if (each.location.type == CU_MEM_LOCATION_TYPE_DEVICE)
      users |= std::uint64_t{1} << each.location.id;
  }
  return users;
}

// Memory of the same users that is free where the node comes that is to have so many bytes; null
// where none is found.
std::shared_ptr<graph_block> find_freed(const graph& in, const device& on, std::size_t bytes,
                                        std::uint64_t users,
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
        freed->block->freed_by == before[i]->handle() && &freed->block->on == &on &&
        freed->block->users == users && freed->block->bytes >= bytes) {
      return freed->block;
    }
    look_at(before[i]->dependencies.all());
  }
  return nullptr;
}

// The block that begins at an address; null where there is none.
std::shared_ptr<graph_block> find_block(CUdeviceptr address) {
  const std::lock_guard lock{graph_memory_account::mutex()};
  const allocation* const record = address_map::find_graph_memory(address, 1);
  if (record == nullptr || record->start() != address) return nullptr;
  graph_block* const found = record->backing_block.load(std::memory_order_relaxed);
  return found == nullptr ? nullptr : found->weak_from_this().lock();
}

// What nodes do with a block.
struct allocation_counts {
  std::shared_ptr<graph_block> block;
  int allocated = 0, freed = 0;
  std::size_t bytes = 0;  // of the last allocation
};

// Those of all blocks, in the order in which they were met.
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

void count(const graph& in, allocation_counter& met) {
  for (const graph_node* node : in.nodes()) {
    if (const auto* made = std::get_if<alloc_params>(&node->params)) {
      allocation_counts& of = met[made->block];
      of.bytes = made->desc.bytesize;
      ++of.allocated;
    } else if (const auto* freed = std::get_if<free_params>(&node->params)) {
      ++met[freed->block].freed;
    } else if (const auto* child = std::get_if<child_params>(&node->params)) {
      if (child->subgraph->has_memory_nodes()) count(*child->subgraph, met);
    }
  }
}

}  // namespace

CUresult add_allocation(graph& to, const CUDA_MEM_ALLOC_NODE_PARAMS& params,
                        std::span<graph_node* const> predecessors, graph_node*& out) {
  if (to.is_subgraph() && !to.is_body())
    return CUDA_ERROR_NOT_SUPPORTED;  // a body is refused when it is instantiated
  device& on = *this_process().find_device(params.poolProps.location.id);
  if (params.bytesize > std::max(on.total_memory(), max_bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::uint64_t users = users_of(on, params);
  std::shared_ptr<graph_block> block = find_freed(to, on, params.bytesize, users, predecessors);
  if (block == nullptr) block = graph_block::make(on, params.bytesize, users);
  if (block == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  alloc_params made{
      block, params, {params.accessDescs, params.accessDescs + params.accessDescCount}};
  made.desc.dptr = block->address();
  out = &to.add(std::move(made), predecessors);
  block->owning_graph = to.handle();
  block->freed_by = nullptr;
  to.set_has_memory_nodes();
  return CUDA_SUCCESS;
}

CUresult add_free(graph& to, CUdeviceptr address, std::span<graph_node* const> predecessors,
                  graph_node*& out) {
  const std::shared_ptr<graph_block> block = find_block(address);
  if (block == nullptr || block->freed_by != nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUgraph in = to.handle();
  const bool in_owning_graph = block->owning_graph == in;
  if (in_owning_graph ? !block->freed_in.empty()
                      : std::ranges::find(block->freed_in, in) != block->freed_in.end()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (to.is_subgraph() && !to.is_body()) return CUDA_ERROR_NOT_SUPPORTED;
  if (!in_owning_graph) block->freed_in.reserve(block->freed_in.size() + 1);
  out = &to.add(free_params{block}, predecessors);
  if (in_owning_graph) {
    block->freed_by = out->handle();
  } else {
    block->freed_in.push_back(in);
  }
  to.set_has_memory_nodes();
  return CUDA_SUCCESS;
}

graph_memory_usage use_of(const graph& whole) {
  graph_memory_usage use;
  if (!whole.has_memory_nodes()) return use;
  allocation_counter met;
  count(whole, met);
  for (allocation_counts& of : met.all) {
    if (of.allocated == of.freed) {
      use.internal.push_back(std::move(of.block));
    } else if (of.allocated > of.freed) {
      use.leftovers.push_back({std::move(of.block), of.bytes});
    } else {
      use.freed.push_back(std::move(of.block));
    }
  }
  return use;
}

}  // namespace weir::embedded::model::graph_memory
