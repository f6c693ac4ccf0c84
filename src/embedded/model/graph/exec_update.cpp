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
  plan_ = plan_reference{new launch_plan{*plan_.get()}};
  for (auto& [node, operation] : disabled_) rebind_to_plan(*plan_.get(), operation);
}

std::span<engine::operation> graph_exec::operations_of(const exec_node& node) noexcept {
  return std::span{plan_->operations}.subspan(node.location.first_operation,
                                              node.location.operations);
}

// Returns true if the node may get these parameters. Also works for a disabled node, whose
// operation is in disabled_.
bool graph_exec::may_become(const exec_node& node, const node_params& params,
                            launch_plan& scratch) {
  if (node.kind != params.index()) return false;
  const auto disabled = disabled_.find(&node);
  if (disabled != disabled_.end())
    return model::may_become({&disabled->second, 1}, node.operands, params, scratch);
  return model::may_become(operations_of(node), node.operands, params, scratch);
}

// Returns true if the parameters would move a captured memset to other memory that graphs own. On
// an H200 only a call for that node may do this; cuGraphExecUpdate() may not.
bool graph_exec::moves_graph_memory(const exec_node& node, const node_params& params) {
  const auto* const set = std::get_if<memset_params>(&params);
  if (set == nullptr || !set->captured) return false;
  const auto disabled = disabled_.find(&node);
  if (!targets_other_memory(
          disabled != disabled_.end() ? disabled->second : operations_of(node).front(), *set))
    return false;
  return address_map::find_graph_memory(set->desc.dst, 1) != nullptr;
}

// Returns the kernel of a node, even if the node is disabled; null for other nodes.
const kernel_work* graph_exec::kernel_of(const exec_node& node) noexcept {
  if (node.kind != node_params{kernel_params{}}.index()) return nullptr;
  const auto disabled = disabled_.find(&node);
  return model::kernel_of(disabled != disabled_.end() ? disabled->second
                                                      : operations_of(node).front());
}

// Returns true if the parameters change an attribute of a kernel node that cuGraphExecUpdate() may
// not change: the cooperative launch, or a priority that the executable uses.
bool graph_exec::has_other_attributes(const exec_node& node, const node_params& params) {
  const auto* const replacement = std::get_if<kernel_params>(&params);
  const kernel_work* const current = kernel_of(node);
  if (current == nullptr || replacement == nullptr) return false;
  const bool uses_priority = (flags_ & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY) != 0;
  return current->shape().cooperative != replacement->desc->shape().cooperative ||
         (uses_priority && current->priority() != replacement->desc->priority());
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
  } else if (const auto disabled = disabled_.find(&node); disabled != disabled_.end()) {
    replace_operations(*plan_.get(), {&disabled->second, 1}, params, scratch);
  } else {
    replace_operations(*plan_.get(), operations_of(node), params, scratch);
    for (const engine::operation& operation : operations_of(node)) {
      step.is_long = step.is_long || operation.kind == engine::operation_kind::long_work;
    }
  }
}

CUresult graph_exec::set_node(CUgraphNode origin, const node_params& params) {
  const std::lock_guard lock{mutex_};
  const exec_node* node = topology_.find_with_bodies(origin);
  launch_plan scratch;
  if (node == nullptr || !may_become(*node, params, scratch)) return CUDA_ERROR_INVALID_VALUE;
  if (const auto* const kernel = std::get_if<kernel_params>(&params)) {
    // The parameters contain no launch attributes, so the node keeps its current ones.
    const kernel_work& current = *kernel_of(*node);
    const launch_shape shape = shape_with_attributes(*kernel->desc, current);
    if (const CUresult error = check_kernel_node_shape(*kernel->desc, shape)) return error;
    kernel_params retained = *kernel;
    retained.desc = kernel->desc->with(shape, current.priority());
    detach_plan();
    change_node(*node, retained, scratch);
    return CUDA_SUCCESS;
  }
  detach_plan();
  change_node(*node, params, scratch);
  return CUDA_SUCCESS;
}

// Pairs nodes with equal indices, which is fast and suffices if both graphs were built by equal
// calls. Returns false if the graphs differ or if a change is not allowed. pair_nodes() then
// compares the graphs in detail to find the reason.
bool graph_exec::match_by_index(const exec_topology& topology, const graph& replacement_graph,
                                exec_topology::pairs& out, launch_plan& scratch) {
  const std::vector<graph_node*>& nodes = replacement_graph.nodes();
  if (topology.has_children() || topology.nodes().size() != nodes.size()) return false;
  out.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    prefetch_node(nodes, i);
    const exec_node& current = topology.nodes()[i];
    if (!topology.is_same_node(replacement_graph, i) ||
        !may_become(current, nodes[i]->params, scratch))
      return false;
    if (moves_graph_memory(current, nodes[i]->params) ||
        has_other_attributes(current, nodes[i]->params))
      return false;
    out.emplace_back(&current, nodes[i]);
  }
  return true;
}

// Pairs all nodes with those of the replacement graph. Returns the first change that is not
// allowed.
exec_topology::difference graph_exec::pair_nodes(const exec_topology& topology,
                                                 const graph& replacement_graph,
                                                 exec_topology::pairs& out, launch_plan& scratch) {
  if (match_by_index(topology, replacement_graph, out, scratch)) return {};
  out.clear();
  if (const auto found = topology.match(replacement_graph, out);
      found.result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
    return found;
  for (const auto& [current, replacement] : out) {
    if (may_become(*current, replacement->params, scratch)) {
      if (moves_graph_memory(*current, replacement->params))
        return {CU_GRAPH_EXEC_UPDATE_ERROR, replacement->handle()};
      if (has_other_attributes(*current, replacement->params))
        return {CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED, replacement->handle()};
      continue;
    }
    const bool has_bodies = std::holds_alternative<conditional_params>(replacement->params);
    return {has_bodies ? CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED
                       : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED,
            replacement->handle()};
  }
  return {};
}

// Gives all nodes of `topology` the parameters of the nodes of `replacement_graph`, or changes
// none. If `source_graph` is not null, the user objects of that graph and the memory of
// `replacement_graph` replace those of the plan.
exec_topology::difference graph_exec::change_nodes(const exec_topology& topology,
                                                   const graph& replacement_graph,
                                                   const graph* source_graph) {
  exec_topology::pairs pairs;
  launch_plan scratch;
  if (const auto found = pair_nodes(topology, replacement_graph, pairs, scratch);
      found.result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
    return found;
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
  if (node == nullptr || node->kind != node_params{child_params{}}.index())
    return CUDA_ERROR_INVALID_VALUE;
  // Nodes that allocate or free memory cannot be copied into an executable.
  if (child.has_memory_nodes()) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  user_object_references retained;
  child.share_retained_objects(retained);
  // Allocates the map entry before the change, so that nothing after the change can fail.
  plan_->retained_by_children.try_emplace(node->child);
  const exec_topology::difference found = change_nodes(topology_.child_of(*node), child, nullptr);
  if (found.result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  plan_->retained_by_children.at(node->child) = std::move(retained);
  return CUDA_SUCCESS;
}

CUresult graph_exec::update(const graph& replacement_graph, exec_topology::difference& reason) {
  const std::lock_guard lock{mutex_};
  if (plan_.get() == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<void> claim =
      replacement_graph.has_memory_nodes() ? replacement_graph.claim_executable(claim_) : nullptr;
  if (replacement_graph.has_memory_nodes() && claim == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  reason = change_nodes(topology_, replacement_graph, &replacement_graph);
  if (reason.result == CU_GRAPH_EXEC_UPDATE_SUCCESS && claim != nullptr) claim_ = std::move(claim);
  return reason.result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS
                                                       : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

CUresult graph_exec::set_enabled(CUgraphNode origin, bool enabled) {
  const std::lock_guard lock{mutex_};
  const exec_node* node = topology_.find_with_bodies(origin);
  if (node == nullptr || !may_be_disabled(*node)) return CUDA_ERROR_INVALID_VALUE;
  const auto disabled = disabled_.find(node);
  if (enabled == (disabled == disabled_.end())) return CUDA_SUCCESS;
  detach_plan();
  engine::operation& operation = operations_of(*node).front();
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
  return node.kind == node_params{memset_params{}}.index() ||
         node.kind == node_params{copy_params{}}.index() ||
         node.kind == node_params{kernel_params{}}.index();
}

}  // namespace weir::embedded::model
