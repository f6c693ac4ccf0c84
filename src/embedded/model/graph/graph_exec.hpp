// model/graph_exec.hpp - an executable graph: what was instantiated, ready to be launched any
// number of times.
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

// Independent of the graph that it was made from. Objects are reused (handle_table.hpp):
// instantiate() begins a life, close() ends it.
//
// Thread safety: all members, from any thread; instantiate() with the lock of the graphs held.
class graph_exec {
 public:
  // Why a graph could not be instantiated.
  struct instantiate_error {
    abi::CUgraphInstantiateResult why = abi::CUDA_GRAPH_INSTANTIATE_SUCCESS;
    graph_node* error_node = nullptr;
  };

  // Makes it of a graph as it is now. CUDA_ERROR_INVALID_VALUE, with the reason, for a graph with a
  // cycle, with a condition that no node uses, or with a body that holds what it may not;
  // CUDA_ERROR_NOT_SUPPORTED for one that may have one executable and has it. Throws
  // std::bad_alloc.
  abi::CUresult instantiate(const graph& from, unsigned long long flags, instantiate_error& reason);

  // Submits the whole graph as work of a stream, behind the launches before. Waits for nothing.
  // CUDA_ERROR_INVALID_VALUE for words in memory whose words calls do not take either
  // (value_work.hpp). Of memory that the graph allocates or frees: what
  // graph_memory::launch::begin() says. Throws std::bad_alloc; then part of the graph may have been
  // submitted.
  abi::CUresult launch(stream& in);

  // Changes what a node does in later launches; it is named by the node of the instantiated graph,
  // or of a body in it. CUDA_ERROR_INVALID_VALUE where the graph had no such node, of such a kind,
  // or what the node does may not change that way. With the lock of the graphs held.
  abi::CUresult set_node(abi::CUgraphNode origin, const node_params& params);

  // The same for all nodes of a child graph. CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE for one of
  // another shape.
  abi::CUresult set_child(abi::CUgraphNode origin, const graph& child);

  // The same for all nodes, and the user objects of the graph for its own: all or nothing.
  // CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE with the reason for a graph of another shape, or with a
  // change that is not allowed; CUDA_ERROR_NOT_SUPPORTED without one for a graph with memory nodes
  // that has an executable.
  abi::CUresult update(const graph& to, exec_topology::difference& reason);

  // Switches a set or copy off and on; switched off it does nothing, in its place.
  // CUDA_ERROR_INVALID_VALUE for other nodes.
  abi::CUresult set_enabled(abi::CUgraphNode origin, bool enabled);
  abi::CUresult get_enabled(abi::CUgraphNode origin, bool& enabled);

  // What was launched still runs. The handle must have been retired before.
  void close() noexcept;

  // CUDA_GRAPH_INSTANTIATE_FLAG_*, as cuGraphExecGetFlags tells them.
  [[nodiscard]] unsigned long long flags() const noexcept { return flags_; }

 private:
  using submission = engine::timeline::submission;
  [[nodiscard]] bool has_work() const noexcept;
  void submit(stream& in, graph_memory::launch* memory);
  void submit_nothing(stream& in);
  void submit_plan(submission& main);
  void submit_step(const plan_step& step, submission& to);

  void detach_plan();
  [[nodiscard]] bool may_become(const exec_node& node, const node_params& params,
                                launch_plan& scratch);
  [[nodiscard]] bool moves_graph_memory(const exec_node& node, const node_params& params);
  [[nodiscard]] const kernel_work* kernel_of(const exec_node& node) noexcept;
  [[nodiscard]] bool has_other_attributes(const exec_node& node, const node_params& params);
  void change(const exec_node& node, const node_params& params, launch_plan& scratch);
  [[nodiscard]] bool match_by_index(const exec_topology& of, const graph& to,
                                    exec_topology::pairs& out, launch_plan& scratch);
  exec_topology::difference pair(const exec_topology& of, const graph& to,
                                 exec_topology::pairs& out, launch_plan& scratch);
  exec_topology::difference change_all(const exec_topology& of, const graph& to, const graph* keep);
  [[nodiscard]] std::span<engine::operation> operations_of(const exec_node& node) noexcept;
  [[nodiscard]] static bool may_be_disabled(const exec_node& node) noexcept;

  std::mutex mutex_;  // launches of an executable come one after the other
  plan_reference plan_;
  exec_topology shape_;
  std::unordered_map<const exec_node*, engine::operation>
      disabled_;  // with what they do when they are switched on
  unsigned long long flags_ = 0;
  std::shared_ptr<void>
      claim_;  // of a graph with memory nodes: it has no other executable meanwhile
  engine::point last_launch_;
  std::vector<engine::timeline*>
      branch_timelines_;  // of the plan's lanes but the first, which is the stream's own
  std::vector<std::optional<submission>>
      submissions_;  // scratch of a launch: a submission to each of them
  std::vector<engine::point>
      step_points_;  // scratch of a launch: where each step that others wait for is complete
};

}  // namespace weir::embedded::model
