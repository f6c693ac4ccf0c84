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

class device;
class graph;
struct graph_node;
class stream;

// The net effect of a launch of a graph on memory. A block that it allocates and frees is internal.
struct graph_memory_usage {
  struct leftover {
    std::shared_ptr<graph_block> block;
    std::size_t bytes;  // of its last allocation
  };
  std::vector<std::shared_ptr<graph_block>> internal;
  std::vector<leftover> leftovers;  // allocated and not freed
  // Freed, after launches of other graphs have left them behind.
  std::vector<std::shared_ptr<graph_block>> freed;

  [[nodiscard]] bool empty() const noexcept {
    return internal.empty() && leftovers.empty() && freed.empty();
  }
};

// A launch or free changes what is live and what counts against a device at its submission; the
// work follows in stream order. A block keeps its memory for the next launch, until it is trimmed,
// or until another launch or allocation finds no other memory. As on an H200, graphs reserve memory
// of a device in chunks of 32 MiB (device::chunk()).
//
// The functions below return the driver's codes and throw std::bad_alloc. Thread safety: all
// functions may be called from any thread; those with graphs and nodes require the lock of the
// graphs.
namespace graph_memory {

// Adds an allocation node with checked parameters. Returns CUDA_ERROR_NOT_SUPPORTED for a child
// graph, and CUDA_ERROR_OUT_OF_MEMORY if there are no addresses.
abi::CUresult add_allocation(graph& target_graph, const abi::CUDA_MEM_ALLOC_NODE_PARAMS& params,
                             std::span<graph_node* const> predecessors, graph_node*& out);

// Adds a node that frees the memory of an allocation node of this or another graph. Returns
// CUDA_ERROR_INVALID_VALUE for any other address, and for memory that already has a free node in
// this graph. An allocation is freed either in its own graph or in others.
abi::CUresult add_free(graph& target_graph, abi::CUdeviceptr address,
                       std::span<graph_node* const> predecessors, graph_node*& out);

// Returns the net effect of the nodes of a graph and its child graphs.
[[nodiscard]] graph_memory_usage usage_of(const graph& source_graph);

// cuMemFree and cuMemFreeAsync, for memory that a launch allocated and did not free. Without a
// stream, frees at once.
abi::CUresult free(allocation& record, std::uintptr_t address, stream* target_stream);

// Returns memory to the device that no allocation and no unfinished launch uses.
void trim(device& owner_device) noexcept;

// Get and reset CU_GRAPH_MEM_ATTR_*. Return false for an unknown attribute, or one that cannot be
// reset. High-water marks are reset to the current values.
bool get(device& owner_device, abi::CUgraphMem_attribute attribute, std::size_t& value) noexcept;
bool reset(device& owner_device, abi::CUgraphMem_attribute attribute) noexcept;

// Called when a block is destroyed.
void forget(graph_block& block) noexcept;

// What a launch does with live memory that its graph allocates but does not free: fail, or free it
// first (CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH).
enum class leftover_policy : std::uint8_t { refuse, free_on_launch };

// The memory operations around the submission of a launch. The destructor calls end() if the
// submission failed.
class launch {
 public:
  launch(const graph_memory_usage& usage, stream& target_stream) noexcept
      : usage_{usage}, target_stream_{target_stream} {}
  launch(const launch&) = delete;
  launch& operator=(const launch&) = delete;
  ~launch();

  // Claims the memory of the launch. Returns CUDA_ERROR_INVALID_VALUE if memory that it allocates
  // but does not free is still live, unless the policy allows it, or if memory that it frees is not
  // live. Returns CUDA_ERROR_OUT_OF_MEMORY if there is too little. Errors change nothing.
  abi::CUresult begin(leftover_policy policy);

  // Adds the waits that must precede the launch's work.
  void add_waits(engine::timeline::submission& submission);

  // Called after the submission: the work is complete at `end_point`.
  void end(engine::point end_point) noexcept;

 private:
  // Require the lock.
  abi::CUresult check(leftover_policy policy) const noexcept;
  bool find_memory();
  bool find_device_memory(device& target_device, std::size_t bytes) noexcept;
  void claim_memory() noexcept;

  const graph_memory_usage& usage_;
  stream& target_stream_;
  bool begun_ = false;
  std::vector<engine::point> prerequisites_;
  // The blocks whose memory the launch has taken.
  std::unique_ptr<std::vector<std::shared_ptr<graph_block>>> displaced_blocks_;
  std::vector<std::shared_ptr<graph_block>> released_;  // scratch: destroyed outside of the lock
};

}  // namespace graph_memory

}  // namespace weir::embedded::model
