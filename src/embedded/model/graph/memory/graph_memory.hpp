// SPDX-License-Identifier: Apache-2.0
// embedded/model/graph/memory/graph_memory.hpp - memory that graph nodes allocate and free at each
// launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "driver/abi.hpp"
#include "embedded/engine/timeline.hpp"
#include "embedded/model/graph/memory/graph_block.hpp"

namespace weir::embedded::model {

class graph;
class graph_memory_account;
struct graph_node;
class stream;

// The blocks of memory that one launch of a graph leaves allocated, and those that it frees.
struct graph_memory_usage {
  struct leftover {
    std::shared_ptr<graph_block> block;
    std::size_t bytes;  // of its last allocation
  };
  // Blocks that the launch both allocates and frees.
  std::vector<std::shared_ptr<graph_block>> internal;
  std::vector<leftover> leftovers;  // blocks that the launch allocates and does not free
  // Blocks that the launch frees but does not allocate. A launch of another graph has allocated
  // them.
  std::vector<std::shared_ptr<graph_block>> freed;

  [[nodiscard]] bool empty() const noexcept {
    return internal.empty() && leftovers.empty() && freed.empty();
  }
};

// A block is the memory of an allocation node (graph_block.hpp). The submission of a launch or free
// changes at once which blocks are live, that is allocated, and which count against a device. The
// work that uses the memory runs later, in stream order. An unused block keeps its memory for the
// next launch. It loses the memory by graph_memory_account::trim(), or when another launch or
// allocation finds no other memory. Graphs reserve memory of a device in whole chunks, of 32 MiB as
// on an H200 (device::chunk()).
//
// Functions that return CUresult return the driver's codes. Functions that are not noexcept throw
// std::bad_alloc. Thread safety: all functions may be called from any thread. The caller of a
// function with a graph parameter holds the lock of the graphs.
namespace graph_memory {

// As on an H200, add_allocation() and add_free() mark the graph as one with memory nodes even if
// they then fail (graph::has_memory_nodes()).

// Adds an allocation node with checked parameters. Returns CUDA_ERROR_NOT_SUPPORTED if
// `target_graph` is a child graph. Returns CUDA_ERROR_OUT_OF_MEMORY for a size above the limit, and
// if no addresses are left.
abi::CUresult add_allocation(graph& target_graph, const abi::CUDA_MEM_ALLOC_NODE_PARAMS& params,
                             std::span<graph_node* const> predecessors, graph_node*& out);

// Adds a node that frees the memory of an allocation node of this or another graph. Returns
// CUDA_ERROR_INVALID_VALUE for any other address, and if this graph or the allocating graph already
// has a free node for it. Also returns it if other graphs free the memory and `target_graph` is the
// allocating graph, or if the allocating graph was instantiated without a node that frees the
// memory: then only another graph may free it. Returns CUDA_ERROR_NOT_SUPPORTED if `target_graph`
// is a child graph.
abi::CUresult add_free(graph& target_graph, abi::CUdeviceptr address,
                       std::span<graph_node* const> predecessors, graph_node*& out);

// Returns what one launch of the graph and its child graphs leaves allocated and what it frees.
[[nodiscard]] graph_memory_usage usage_of(const graph& source_graph);

// cuMemFree and cuMemFreeAsync, for memory that a launch allocated and did not free.
// `target_stream`: the stream of cuMemFreeAsync, or null for cuMemFree. Returns
// CUDA_ERROR_INVALID_VALUE if no live allocation starts at the address.
abi::CUresult free(allocation& record, std::uintptr_t address, stream* target_stream);

// The action of a launch if memory of its graph is still live from an earlier launch: fail, or free
// that memory first (CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH).
enum class leftover_policy : std::uint8_t { refuse, free_on_launch };

// The memory operations of one launch. The caller calls begin(), then add_waits() during the
// submission, then end(). If an exception skips end(), the destructor calls it.
class launch {
 public:
  launch(const graph_memory_usage& usage, stream& target_stream) noexcept
      : usage_{usage}, target_stream_{target_stream} {}
  launch(const launch&) = delete;
  launch& operator=(const launch&) = delete;
  ~launch();

  // Claims the memory of the launch. Returns CUDA_ERROR_INVALID_VALUE if memory that the launch
  // frees but does not allocate is not live. Also returns it if memory that the launch allocates
  // but does not free is still live and the policy is `refuse`. Returns CUDA_ERROR_OUT_OF_MEMORY if
  // the device has too little memory. In case of an error, nothing is claimed.
  abi::CUresult begin(leftover_policy policy);

  // Adds waits for the earlier work that uses the claimed memory, and then an operation that drops
  // the pages of blocks that this launch displaces. The caller must call this before it adds the
  // launch's work to the submission.
  void add_waits(engine::timeline::submission& submission);

  // Called after the submission. `end_point`: the point in the stream's timeline at which the work
  // of the launch is complete.
  void end(engine::point end_point) noexcept;

 private:
  // The caller holds graph_memory_account::mutex() for the functions below.
  abi::CUresult check(leftover_policy policy) const noexcept;
  bool find_memory();
  bool find_device_memory(graph_memory_account& account, std::size_t bytes) noexcept;
  void claim_memory() noexcept;

  const graph_memory_usage& usage_;
  stream& target_stream_;
  // True from a successful begin() to end().
  bool begun_ = false;
  // The points in timelines that the launch waits for.
  std::vector<engine::point> prerequisites_;
  // Idle blocks of other nodes that lose their memory to this launch.
  std::unique_ptr<std::vector<std::shared_ptr<graph_block>>> displaced_blocks_;
  // Used by end() to release blocks after it has released the lock.
  std::vector<std::shared_ptr<graph_block>> released_;
};

}  // namespace graph_memory

}  // namespace weir::embedded::model
