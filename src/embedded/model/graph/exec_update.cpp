// SPDX-License-Identifier: Apache-2.0
// model/graph/exec_update.cpp - changes the nodes of an executable in place.
#include "embedded/model/graph/graph.hpp"
#include "embedded/model/graph/graph_exec.hpp"
#include "embedded/model/graph/node_operations.hpp"
#include "embedded/model/kernel/kernel_work.hpp"
#include "embedded/model/memory/address_map.hpp"

namespace weir::embedded::model {

using namespace abi;

// Replaces the plan by a copy if launches in flight use it, so that the plan can be changed.
void graph_exec::detach_plan() {
  if (plan_->users.load(std::memory_order_acquire) == 1) return;
  plan_ = plan_reference{new launch_plan{*plan_}};
}

// Returns the operations of a node. A disabled node has the operation that it gets back when it is
// enabled.
std::span<engine::operation> graph_exec::operations_of(const exec_node& node) noexcept {
  const auto disabled = disabled_.find(&node);
  if (disabled != disabled_.end()) return {&disabled->second, 1};
  return std::span{plan_->operations}.subspan(node.location.first_operation,
                                              node.location.operations);
}

// Returns true if the node may get these parameters.
bool graph_exec::may_become(const exec_node& node, const node_params& params,
                            launch_plan& scratch) {
  const auto* const memset = std::get_if<memset_params>(&params);
  if (memset != nullptr && memset->unknown) return false;
  return node.type == type_of(params) &&
         model::may_become(operations_of(node), node.operands, params, scratch);
}

// Returns true if the parameters would move a captured memset to other memory that graphs own. On
// an H200 only a call for that node may do this; cuGraphExecUpdate() may not.
bool graph_exec::moves_graph_memory(const exec_node& node, const node_params& params) {
  const auto* const set = std::get_if<memset_params>(&params);
  return set != nullptr && set->captured &&
         address_map::find_graph_memory(set->desc.dst, 1) != nullptr &&
         targets_other_memory(operations_of(node).front(), *set);
}

// Returns true if the parameters change an attribute of a kernel node that cuGraphExecUpdate() may
// not change: the cooperative launch, or a priority that the executable uses.
bool graph_exec::has_other_attributes(const exec_node& node, const node_params& params) {
  const auto* const replacement = std::get_if<kernel_params>(&params);
  if (replacement == nullptr) return false;
  const kernel_work& current = *kernel_of(operations_of(node).front());
  const bool uses_priority = (flags_ & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY) != 0;
  return current.shape().cooperative != replacement->desc->shape().cooperative ||
         (uses_priority && current.priority() != replacement->desc->priority());
}

// Returns why cuGraphExecUpdate() or an update of a child graph may not give the node these
// parameters, or CU_GRAPH_EXEC_UPDATE_SUCCESS.
CUgraphExecUpdateResult graph_exec::check_change(const exec_node& node, const node_params& params,
                                                 launch_plan& scratch) {
  if (!may_become(node, params, scratch)) {
    return std::holds_alternative<conditional_params>(params)
               ? CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED
               : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
  }
  if (moves_graph_memory(node, params)) return CU_GRAPH_EXEC_UPDATE_ERROR;
  return has_other_attributes(node, params) ? CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED
                                            : CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

// Gives the node new parameters. The caller has called may_become() for the node and then
// detach_plan().
void graph_exec::change_node(const exec_node& node, const node_params& params,
                             launch_plan& scratch) {
  plan_step& step = plan_->steps[node.location.step];
  if (const auto* record = std::get_if<record_params>(&params)) {
    step.event = record->event;
  } else if (const auto* wait = std::get_if<wait_params>(&params)) {
    step.event = wait->event;
  } else {
    const std::span<engine::operation> operations = operations_of(node);
    replace_operations(*plan_, operations, params, scratch);
    for (const engine::operation& operation : operations)
      step.is_long = step.is_long || operation.kind == engine::operation_kind::long_work;
  }
}

CUresult graph_exec::set_node(CUgraphNode origin, node_params params) {
  const std::lock_guard lock{mutex_};
  const exec_node* node = topology_.find_with_bodies(origin);
  launch_plan scratch;
  if (node == nullptr || !may_become(*node, params, scratch)) return CUDA_ERROR_INVALID_VALUE;
  if (auto* const kernel = std::get_if<kernel_params>(&params)) {
    // The parameters contain no launch attributes, so the node keeps its current ones.
    const kernel_work& current = *kernel_of(operations_of(*node).front());
    if (const CUresult error = kernel->copy_launch_attributes(current)) return error;
  }
  detach_plan();
  change_node(*node, params, scratch);
  return CUDA_SUCCESS;
}

// Appends pairs of nodes with equal indices in `topology` and `replacement_graph` to `out`. This is
// fast and suffices if both graphs were built by equal calls. Returns false if the graphs differ or
// if a change is not allowed. pair_nodes() then compares the graphs in detail to find the reason.
bool graph_exec::match_by_index(const exec_topology& topology, const graph& replacement_graph,
                                exec_topology::pairs& out, launch_plan& scratch) {
  const std::vector<graph_node*>& nodes = replacement_graph.nodes();
  if (topology.has_children() || topology.nodes().size() != nodes.size()) return false;
  out.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    prefetch_node(nodes, i);
    const exec_node& current = topology.nodes()[i];
    if (!topology.is_same_node(replacement_graph, i) ||
        check_change(current, nodes[i]->params, scratch) != CU_GRAPH_EXEC_UPDATE_SUCCESS)
      return false;
    out.emplace_back(&current, nodes[i]);
  }
  return true;
}

// Appends each node of `topology`, with the node of `replacement_graph` that replaces it, to `out`.
// Returns the first difference between the graphs, or the first change that is not allowed.
exec_topology::difference graph_exec::pair_nodes(const exec_topology& topology,
                                                 const graph& replacement_graph,
                                                 exec_topology::pairs& out, launch_plan& scratch) {
  if (match_by_index(topology, replacement_graph, out, scratch)) return {};
  out.clear();
  if (const auto found = topology.match(replacement_graph, out)) return found;
  for (const auto& [current, replacement] : out) {
    const CUgraphExecUpdateResult result = check_change(*current, replacement->params, scratch);
    if (result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return {result, replacement->handle()};
  }
  return {};
}

// Gives all nodes of `topology` the parameters of the nodes of `replacement_graph`, or changes
// none. `source_graph` is `replacement_graph` in an update of the whole executable, whose user
// objects and memory then replace those of the plan. It is null in an update of a child graph.
exec_topology::difference graph_exec::change_nodes(const exec_topology& topology,
                                                   const graph& replacement_graph,
                                                   const graph* source_graph) {
  exec_topology::pairs pairs;
  launch_plan scratch;
  if (const auto found = pair_nodes(topology, replacement_graph, pairs, scratch)) return found;
  user_object_references retained;
  graph_memory_usage memory;
  if (source_graph != nullptr) {
    source_graph->share_retained_objects(retained);
    memory = graph_memory::usage_of(replacement_graph);
  }
  detach_plan();
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (i + prefetch_distance < pairs.size()) prefetch_node(pairs[i + prefetch_distance].second);
    change_node(*pairs[i].first, pairs[i].second->params, scratch);
  }
  if (source_graph != nullptr) {
    plan_->retained_objects = std::move(retained);
    plan_->retained_by_children.clear();
    plan_->memory = std::move(memory);
  }
  return {};
}

CUresult graph_exec::set_child(CUgraphNode origin, const graph& child) {
  const std::lock_guard lock{mutex_};
  const exec_node* node = topology_.find(origin);
  if (node == nullptr || node->type != CU_GRAPH_NODE_TYPE_GRAPH) return CUDA_ERROR_INVALID_VALUE;
  user_object_references retained;
  child.share_retained_objects(retained);
  // Allocates the map entry before the change, so that nothing after the change can fail. Launches
  // in flight share the plan, but do not read the map.
  plan_->retained_by_children.try_emplace(node->first_child);
  if (change_nodes(topology_.child_of(*node), child, nullptr))
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  plan_->retained_by_children.at(node->first_child) = std::move(retained);
  return CUDA_SUCCESS;
}

CUresult graph_exec::update(const graph& replacement_graph, exec_topology::difference& reason) {
  const std::lock_guard lock{mutex_};
  if (plan_ == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<void> claim;
  if (replacement_graph.has_memory_nodes()) {
    claim = replacement_graph.claim_executable(claim_);
    if (claim == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  }
  reason = change_nodes(topology_, replacement_graph, &replacement_graph);
  if (reason) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  if (claim != nullptr) claim_ = std::move(claim);
  return CUDA_SUCCESS;
}

CUresult graph_exec::set_enabled(CUgraphNode origin, bool enabled) {
  const std::lock_guard lock{mutex_};
  const exec_node* node = topology_.find_with_bodies(origin);
  if (node == nullptr || !may_be_disabled(*node)) return CUDA_ERROR_INVALID_VALUE;
  const auto disabled = disabled_.find(node);
  if (enabled == (disabled == disabled_.end())) return CUDA_SUCCESS;
  detach_plan();
  engine::operation& operation = plan_->operations[node->location.first_operation];
  if (enabled) {
    operation = disabled->second;
    disabled_.erase(disabled);
  } else {
    disabled_.emplace(node, operation);
    operation = make_no_op();
  }
  return CUDA_SUCCESS;
}

CUresult graph_exec::get_enabled(CUgraphNode origin, bool& enabled) {
  const std::lock_guard lock{mutex_};
  const exec_node* node = topology_.find_with_bodies(origin);
  if (node == nullptr || !may_be_disabled(*node)) return CUDA_ERROR_INVALID_VALUE;
  enabled = !disabled_.contains(node);
  return CUDA_SUCCESS;
}

bool graph_exec::may_be_disabled(const exec_node& node) noexcept {
  return node.type == CU_GRAPH_NODE_TYPE_MEMSET || node.type == CU_GRAPH_NODE_TYPE_MEMCPY ||
         node.type == CU_GRAPH_NODE_TYPE_KERNEL;
}

}  // namespace weir::embedded::model
