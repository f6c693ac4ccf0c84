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
// Thread safety: all members may be called from any thread. The caller of instantiate(),
// set_node(), set_child() and update() holds the lock of the graphs (process::graphs_mutex).
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
  // with unsupported nodes. Returns CUDA_ERROR_INVALID_VALUE and CUDA_GRAPH_INSTANTIATE_ERROR if
  // the context of a memset node cannot access the node's memory. Returns CUDA_ERROR_NOT_SUPPORTED
  // if the graph is_noncopyable() and already has an executable. Throws std::bad_alloc.
  abi::CUresult instantiate(const graph& source_graph, unsigned long long flags,
                            instantiate_error& reason);

  // Submits the whole graph to a stream. It runs after earlier launches of this executable. Does
  // not block. If memory of an operation was freed, the launch only makes the device fail, with
  // CUDA_ERROR_ILLEGAL_ADDRESS. Returns CUDA_ERROR_INVALID_VALUE if the executable is closed, or if
  // a value operation uses memory that it may not use (operations.hpp). Also returns the errors of
  // graph_memory::launch::begin(). Throws std::bad_alloc; part of the graph may then be submitted.
  abi::CUresult launch(stream& target_stream);

  // Gives a node other parameters for later launches. `origin` is the node in the instantiated
  // graph or in a body of it, but not in a child graph. Returns CUDA_ERROR_INVALID_VALUE if there
  // is no such node of the kind of `params`, or if the change is not allowed. Also returns the
  // errors of check_kernel_node_shape().
  abi::CUresult set_node(abi::CUgraphNode origin, node_params params);

  // Like set_node(), for all nodes of the child graph of a node; all change or none. Returns
  // CUDA_ERROR_INVALID_VALUE if `origin` is not a child graph node of the instantiated graph.
  // Returns CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE for a different topology, a change that is not
  // allowed, or a `child` with memory nodes.
  abi::CUresult set_child(abi::CUgraphNode origin, const graph& child);

  // Changes all nodes, the user objects and the graph memory to those of another graph, or changes
  // nothing. Returns CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE and sets `reason` for a different
  // topology or a change that is not allowed. Returns CUDA_ERROR_NOT_SUPPORTED, without a reason,
  // if `replacement_graph` has memory nodes and another executable. Returns
  // CUDA_ERROR_INVALID_VALUE if this executable is closed.
  abi::CUresult update(const graph& replacement_graph, exec_topology::difference& reason);

  // Enables or disables a memset, copy or kernel node for later launches. A disabled node does
  // nothing, but keeps its dependencies. Returns CUDA_ERROR_INVALID_VALUE for other nodes.
  abi::CUresult set_enabled(abi::CUgraphNode origin, bool enabled);
  // Gets whether a memset, copy or kernel node is enabled. Returns CUDA_ERROR_INVALID_VALUE for
  // other nodes.
  abi::CUresult get_enabled(abi::CUgraphNode origin, bool& enabled);

  // Ends the lifetime of the executable. Work of earlier launches still runs. The caller has
  // already retired the handle (handle_table.hpp).
  void close() noexcept;

  // CUDA_GRAPH_INSTANTIATE_FLAG_*, as returned by cuGraphExecGetFlags.
  [[nodiscard]] unsigned long long flags() const noexcept { return flags_; }

 private:
  using submission = engine::timeline::submission;
  struct timeline_releaser {
    void operator()(engine::timeline* branch) const noexcept { branch->release_when_drained(); }
  };
  using branch_timeline = std::unique_ptr<engine::timeline, timeline_releaser>;

  [[nodiscard]] bool has_work() const noexcept;
  [[nodiscard]] bool has_freed_memory() noexcept;
  void submit(stream& target_stream, graph_memory::launch* memory);
  void submit_nothing(stream& target_stream);
  void submit_plan(submission& main);
  void submit_step(const plan_step& step, submission& pending);

  void detach_plan();
  [[nodiscard]] bool may_become(const exec_node& node, const node_params& params,
                                launch_plan& scratch);
  [[nodiscard]] bool moves_graph_memory(const exec_node& node, const node_params& params);
  [[nodiscard]] bool has_other_attributes(const exec_node& node, const node_params& params);
  [[nodiscard]] abi::CUgraphExecUpdateResult check_change(const exec_node& node,
                                                          const node_params& params,
                                                          launch_plan& scratch);
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

  std::mutex mutex_;  // orders the launches of the executable; guards the members below
  plan_reference plan_;
  exec_topology topology_;
  // The disabled nodes, each with the operation that it gets back when it is enabled.
  std::unordered_map<const exec_node*, engine::operation> disabled_;
  unsigned long long flags_ = 0;
  // The result of graph::claim_executable() if the graph is_noncopyable(), else null. While this
  // executable holds it, the graph can have no other executable.
  std::shared_ptr<void> claim_;
  // The value of address_map::removals() at which the memory of all operations was known to exist.
  std::uint64_t checked_removals_ = 0;
  // The point, a position in a stream's work, at which the last launch is complete. Default, which
  // means nothing to wait for, if the executable was not launched yet.
  engine::point last_launch_;
  // The timeline, a sequence of operations, of each branch of the plan except branch 0, which runs
  // in the launching stream. A branch is a sequence of nodes that runs concurrently with the others
  // (branch_assignment.hpp). Branch i has the index i - 1.
  std::vector<branch_timeline> branch_timelines_;
  // Used during a launch: the submission to each branch timeline, by the indices of
  // branch_timelines_. A submission adds operations that become visible when it ends.
  std::vector<std::optional<submission>> submissions_;
  // Used during a launch: the points in timelines at which the steps are complete that other
  // branches wait for. Indexed by plan_step::awaited_index.
  std::vector<engine::point> step_points_;
};

}  // namespace weir::embedded::model
