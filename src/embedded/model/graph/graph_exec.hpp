// SPDX-License-Identifier: Apache-2.0
// model/graph/graph_exec.hpp - an executable graph: instantiated once, launched many times.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "driver/abi.hpp"
#include "embedded/engine/timeline.hpp"
#include "embedded/model/graph/exec_topology.hpp"
#include "embedded/model/graph/launch_plan.hpp"

namespace weir::embedded::model {

class graph;
struct graph_node;
class stream;

// An executable graph, independent of the graph that it was made from. Objects are reused
// (handle_table.hpp): instantiate() begins a lifetime, close() ends it.
//
// Thread safety: all members may be called from any thread; instantiate() requires the lock of the
// graphs.
class graph_exec {
 public:
  // Why a graph could not be instantiated.
  struct instantiate_error {
    abi::CUgraphInstantiateResult result = abi::CUDA_GRAPH_INSTANTIATE_SUCCESS;
    graph_node* error_node = nullptr;
  };

  // Instantiates the current state of a graph.
  //
  // Returns CUDA_ERROR_INVALID_VALUE and sets `reason` for a cycle, an unused condition, or a body
  // with unsupported nodes. Returns CUDA_ERROR_NOT_SUPPORTED if the graph can have one executable
  // and already has it. Throws std::bad_alloc.
  abi::CUresult instantiate(const graph& source_graph, unsigned long long flags,
                            instantiate_error& reason);

  // Submits the whole graph to a stream, after earlier launches. Does not block. Returns
  // CUDA_ERROR_INVALID_VALUE if a value operation uses memory that it may not use (operations.hpp),
  // or an error of graph_memory::launch::begin(). Throws std::bad_alloc; part of the graph may then
  // be submitted.
  abi::CUresult launch(stream& target_stream);

  // Changes a node in later launches. `origin` is the node in the instantiated graph or in a body
  // of it. Returns CUDA_ERROR_INVALID_VALUE if there is no such node of this kind, or if the change
  // is not allowed. Requires the lock of the graphs.
  abi::CUresult set_node(abi::CUgraphNode origin, const node_params& params);

  // Like set_node(), for all nodes of a child graph. Returns CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
  // for a different topology.
  abi::CUresult set_child(abi::CUgraphNode origin, const graph& child);

  // Like set_node(), for all nodes and the user objects; all change or none. Returns
  // CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE and sets `reason` for a different topology or a change
  // that is not allowed. Returns CUDA_ERROR_NOT_SUPPORTED, without a reason, if the graph has
  // memory nodes and another executable.
  abi::CUresult update(const graph& replacement_graph, exec_topology::difference& reason);

  // Enable or disable a memset, copy or kernel node. A disabled node does nothing, but keeps its
  // dependencies. Return CUDA_ERROR_INVALID_VALUE for other nodes.
  abi::CUresult set_enabled(abi::CUgraphNode origin, bool enabled);
  abi::CUresult get_enabled(abi::CUgraphNode origin, bool& enabled);

  // Ends the lifetime; launched work still runs. The handle must already be retired.
  void close() noexcept;

  // CUDA_GRAPH_INSTANTIATE_FLAG_*, as returned by cuGraphExecGetFlags.
  [[nodiscard]] unsigned long long flags() const noexcept { return flags_; }

 private:
  using submission = engine::timeline::submission;
  [[nodiscard]] bool has_work() const noexcept;
  void submit(stream& target_stream, graph_memory::launch* memory);
  void submit_nothing(stream& target_stream);
  void submit_plan(submission& main);
  void submit_step(const plan_step& step, submission& pending);

  void detach_plan();
  [[nodiscard]] bool may_become(const exec_node& node, const node_params& params,
                                launch_plan& scratch);
  [[nodiscard]] bool moves_graph_memory(const exec_node& node, const node_params& params);
  [[nodiscard]] const kernel_work* kernel_of(const exec_node& node) noexcept;
  [[nodiscard]] bool has_other_attributes(const exec_node& node, const node_params& params);
  void change_node(const exec_node& node, const node_params& params, launch_plan& scratch);
  [[nodiscard]] bool match_by_index(const exec_topology& topology, const graph& replacement_graph,
                                    exec_topology::pairs& out, launch_plan& scratch);
  exec_topology::difference pair_nodes(const exec_topology& topology,
                                       const graph& replacement_graph, exec_topology::pairs& out,
                                       launch_plan& scratch);
  exec_topology::difference change_nodes(const exec_topology& topology,
                                         const graph& replacement_graph, const graph* source_graph);
  [[nodiscard]] std::span<engine::operation> operations_of(const exec_node& node) noexcept;
  [[nodiscard]] static bool may_be_disabled(const exec_node& node) noexcept;

  std::mutex mutex_;  // orders the launches of the executable
  plan_reference plan_;
  exec_topology topology_;
  // Disabled nodes, with their operations for when they are enabled.
  std::unordered_map<const exec_node*, engine::operation> disabled_;
  unsigned long long flags_ = 0;
  // For a graph with memory nodes: while held, it can have no other executable.
  std::shared_ptr<void> claim_;
  engine::point last_launch_;
  // One per branch of the plan, except branch 0, which is the launching stream.
  std::vector<engine::timeline*> branch_timelines_;
  // Used during a launch: a submission to each branch timeline.
  std::vector<std::optional<submission>> submissions_;
  // Used during a launch: where each awaited step is complete.
  std::vector<engine::point> step_points_;
};

}  // namespace weir::embedded::model
