// model/graph_memory.hpp - the memory of graphs: what their nodes allocate and free, launch by
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

class device;
class graph;
struct graph_node;
class stream;

// What a launch of a graph does with memory. All in all: a block that it both allocates and frees
// is its own.
struct graph_memory_usage {
  struct leftover {
    std::shared_ptr<graph_block> block;
    std::size_t bytes;  // of its last allocation
  };
  std::vector<std::shared_ptr<graph_block>> internal;
  std::vector<leftover> leftovers;                  // allocated and not freed
  std::vector<std::shared_ptr<graph_block>> freed;  // of what launches of other graphs left behind

  [[nodiscard]] bool empty() const noexcept {
    return internal.empty() && leftovers.empty() && freed.empty();
  }
};

// What is live, and what counts against the device, changes when a launch or a free is submitted;
// the work itself follows in stream order. Memory that a launch has had stays its block's, for the
// next launch, until it is trimmed, or another launch or allocation finds no other. As on an H200,
// a device gives it out in pieces of 32 MiB (device::chunk()).
//
// What follows answers in the driver's codes and throws std::bad_alloc. Thread safety: all of it,
// from any thread; what takes graphs and nodes, with the lock of the graphs held.
namespace graph_memory {

// Adds a node that allocates. The parameters were checked. CUDA_ERROR_NOT_SUPPORTED for a graph
// that is part of another; CUDA_ERROR_OUT_OF_MEMORY where there are no addresses.
abi::CUresult add_allocation(graph& to, const abi::CUDA_MEM_ALLOC_NODE_PARAMS& params,
                             std::span<graph_node* const> predecessors, graph_node*& out);

// Adds a node that frees what a node of this or another graph allocates. CUDA_ERROR_INVALID_VALUE
// for any other address, and for what is freed already: by a node of this graph, or by one of its
// own graph and by one elsewhere.
abi::CUresult add_free(graph& to, abi::CUdeviceptr address,
                       std::span<graph_node* const> predecessors, graph_node*& out);

// What the nodes of a graph and its child graphs do.
[[nodiscard]] graph_memory_usage use_of(const graph& whole);

// cuMemFree and cuMemFreeAsync of what a launch left behind; without a stream at once.
abi::CUresult free(allocation& record, std::uintptr_t address, stream* in);

// Gives back what no launch that is under way has, and no allocation.
void trim(device& of) noexcept;

// CU_GRAPH_MEM_ATTR_*. False for one that is unknown, or cannot be set: high marks can, to what
// there is now.
bool get(device& of, abi::CUgraphMem_attribute attribute, std::size_t& value) noexcept;
bool reset(device& of, abi::CUgraphMem_attribute attribute) noexcept;

// A block ends.
void forget(graph_block& ending) noexcept;

// The memory's part of a launch: before it is submitted, and afterwards. Ends it in any case.
class launch {
 public:
  launch(const graph_memory_usage& usage, stream& in) noexcept : usage_{usage}, in_{in} {}
  launch(const launch&) = delete;
  launch& operator=(const launch&) = delete;
  ~launch();

  // CUDA_ERROR_INVALID_VALUE where something that it leaves behind is still there, unless that is
  // freed on launch, or something that it frees is not; CUDA_ERROR_OUT_OF_MEMORY. Then nothing has
  // changed.
  abi::CUresult begin(bool frees_on_launch);

  // What the work comes after.
  void order(engine::timeline::submission& main);

  // It is submitted: complete at that point.
  void end(engine::point complete) noexcept;

 private:
  // With the lock held.
  abi::CUresult check(bool frees_on_launch) const noexcept;
  bool get_memory();
  bool find_memory(device& on, std::size_t bytes) noexcept;
  void claim_memory() noexcept;

  const graph_memory_usage& usage_;
  stream& in_;
  bool begun_ = false;
  std::vector<engine::point> after_;
  std::unique_ptr<std::vector<std::shared_ptr<graph_block>>>
      displaced_blocks_;                                // whose memory it has now
  std::vector<std::shared_ptr<graph_block>> released_;  // scratch: they end outside the lock
};

}  // namespace graph_memory

}  // namespace weir::embedded::model
