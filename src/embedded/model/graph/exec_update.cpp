// model/exec_update.cpp - changing what an executable does without making another.
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/graph/graph.hpp"
#include "embedded/model/graph/graph_exec.hpp"
#include "embedded/model/graph/node_operations.hpp"
#include "embedded/model/graph/node_shape.hpp"

namespace weir::embedded::model {

using namespace abi;

// Launches in flight keep the plan that they have.
void graph_exec::make_plan_own() {
  if (plan_->users.load(std::memory_order_acquire) == 1) return;
  plan_ = plan_reference{new launch_plan{*plan_.get()}};
  for (auto& [node, operation] : disabled_) refer_to_copies_of(*plan_.get(), operation);
}

std::span<engine::operation> graph_exec::operations_of(const exec_node& node) noexcept {
  return std::span{plan_->operations}.subspan(node.place.first_operation, node.place.operations);
}

bool graph_exec::may_become(const exec_node& node, const node_params& params, launch_plan& scratch) {
  if (node.kind != params.index()) return false;
  const auto disabled = disabled_.find(&node);
  if (disabled != disabled_.end()) return model::may_become({&disabled->second, 1}, node.sides, params, scratch);
  return model::may_become(operations_of(node), node.sides, params, scratch);
}

// An H200 moves a captured set to what another graph allocates by the node's own call only, not with its whole graph.
bool graph_exec::is_moved_in_graphs(const exec_node& node, const node_params& params) {
  const auto* const set = std::get_if<set_params>(&params);
  if (set == nullptr || !set->captured) return false;
  const auto disabled = disabled_.find(&node);
  if (!is_elsewhere(disabled != disabled_.end() ? disabled->second : operations_of(node).front(), *set)) return false;
  return address_map::find_of_graph(set->what.dst, 1) != nullptr;
}

// The kernel that a node runs, or would if it were not switched off; null for other nodes.
const kernel_work* graph_exec::kernel_of(const exec_node& node) noexcept {
  if (node.kind != node_params{kernel_params{}}.index()) return nullptr;
  const auto disabled = disabled_.find(&node);
  return model::kernel_of(disabled != disabled_.end() ? disabled->second : operations_of(node).front());
}

// Attributes of a kernel that an update of the whole graph may not change.
bool graph_exec::has_other_attributes(const exec_node& node, const node_params& params) {
  const auto* const theirs = std::get_if<kernel_params>(&params);
  const kernel_work* const mine = kernel_of(node);
  if (mine == nullptr || theirs == nullptr) return false;
  const bool by_priority = (flags_ & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY) != 0;
  return mine->shape().cooperative != theirs->what->shape().cooperative ||
         (by_priority && mine->priority() != theirs->what->priority());
}

void graph_exec::change(const exec_node& node, const node_params& params, launch_plan& scratch) {
  plan_step& step = plan_->steps[node.place.step];
  if (const auto* record = std::get_if<record_params>(&params)) {
    step.event = record->event;
  } else if (const auto* wait = std::get_if<wait_params>(&params)) {
    step.event = wait->event;
  } else if (const auto disabled = disabled_.find(&node); disabled != disabled_.end()) {
    replace_operations(*plan_.get(), {&disabled->second, 1}, params, scratch);
  } else {
    replace_operations(*plan_.get(), operations_of(node), params, scratch);
    for (const engine::operation& now : operations_of(node)) {
      step.takes_long = step.takes_long || now.kind == engine::operation_kind::long_work;
    }
  }
}

CUresult graph_exec::set_node(CUgraphNode origin, const node_params& params) {
  const std::lock_guard lock{mutex_};
  const exec_node* node = shape_.find_with_bodies(origin);
  launch_plan scratch;
  if (node == nullptr || !may_become(*node, params, scratch)) return CUDA_ERROR_INVALID_VALUE;
  if (const auto* const kernel = std::get_if<kernel_params>(&params)) {
    // The call names no attributes: they stay.
    const kernel_work& now = *kernel_of(*node);
    const launch_shape shape = shape_with_attributes(*kernel->what, now);
    if (const CUresult status = check_node_shape(*kernel->what, shape); status != CUDA_SUCCESS) return status;
    kernel_params kept = *kernel;
    kept.what = kernel->what->with(shape, now.priority());
    make_plan_own();
    change(*node, kept, scratch);
    return CUDA_SUCCESS;
  }
  make_plan_own();
  change(*node, params, scratch);
  return CUDA_SUCCESS;
}

// False for a graph that was not made alike, or with a change that is not allowed: whoever wants to know which looks closer.
bool graph_exec::pair_by_number(const exec_shape& of, const graph& to, exec_shape::pairs& out, launch_plan& scratch) {
  const std::vector<graph_node*>& nodes = to.nodes();
  if (of.has_parts() || of.nodes().size() != nodes.size()) return false;
  out.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    look_ahead(nodes, i);
    const exec_node& mine = of.nodes()[i];
    if (!of.is_same_node(to, i) || !may_become(mine, nodes[i]->params, scratch)) return false;
    if (is_moved_in_graphs(mine, nodes[i]->params) || has_other_attributes(mine, nodes[i]->params)) return false;
    out.emplace_back(&mine, nodes[i]);
  }
  return true;
}

exec_shape::difference graph_exec::pair(const exec_shape& of, const graph& to, exec_shape::pairs& out,
                                        launch_plan& scratch) {
  if (pair_by_number(of, to, out, scratch)) return {};
  out.clear();
  if (const auto found = of.pair_with(to, out); found.why != CU_GRAPH_EXEC_UPDATE_SUCCESS) return found;
  for (const auto& [mine, theirs] : out) {
    if (may_become(*mine, theirs->params, scratch)) {
      if (is_moved_in_graphs(*mine, theirs->params)) return {CU_GRAPH_EXEC_UPDATE_ERROR, theirs->handle()};
      if (has_other_attributes(*mine, theirs->params))
        return {CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED, theirs->handle()};
      continue;
    }
    const bool has_bodies = std::holds_alternative<conditional_params>(theirs->params);
    return {has_bodies ? CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED,
            theirs->handle()};
  }
  return {};
}

exec_shape::difference graph_exec::change_all(const exec_shape& of, const graph& to, const graph* keep) {
  exec_shape::pairs pairs;
  launch_plan scratch;
  if (const auto found = pair(of, to, pairs, scratch); found.why != CU_GRAPH_EXEC_UPDATE_SUCCESS) return found;
  user_object_references kept;
  graph_memory_use memory;
  if (keep != nullptr) {
    keep->share_kept_alive(kept);
    memory = graph_memory::use_of(to);
  }
  make_plan_own();
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (i + look_ahead_distance < pairs.size()) look_ahead(pairs[i + look_ahead_distance].second);
    change(*pairs[i].first, pairs[i].second->params, scratch);
  }
  if (keep != nullptr) {
    plan_->kept_alive = std::move(kept);
    plan_->kept_by_children.clear();
    plan_->memory = std::move(memory);
  }
  return {};
}

CUresult graph_exec::set_child(CUgraphNode origin, const graph& child) {
  const std::lock_guard lock{mutex_};
  const exec_node* node = shape_.find(origin);
  if (node == nullptr || node->kind != node_params{child_params{}}.index()) return CUDA_ERROR_INVALID_VALUE;
  if (child.has_memory_nodes()) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;  // a copy of it there cannot be
  user_object_references kept;
  child.share_kept_alive(kept);
  plan_->kept_by_children.try_emplace(node->child);  // so that no memory is needed behind the change
  const exec_shape::difference found = change_all(shape_.child_of(*node), child, nullptr);
  if (found.why != CU_GRAPH_EXEC_UPDATE_SUCCESS) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  plan_->kept_by_children.at(node->child) = std::move(kept);
  return CUDA_SUCCESS;
}

CUresult graph_exec::update(const graph& to, exec_shape::difference& reason) {
  const std::lock_guard lock{mutex_};
  if (plan_.get() == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<void> claim = to.has_memory_nodes() ? to.claim_executable(claim_) : nullptr;
  if (to.has_memory_nodes() && claim == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  reason = change_all(shape_, to, &to);
  if (reason.why == CU_GRAPH_EXEC_UPDATE_SUCCESS && claim != nullptr) claim_ = std::move(claim);
  return reason.why == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

CUresult graph_exec::set_enabled(CUgraphNode origin, bool enabled) {
  const std::lock_guard lock{mutex_};
  const exec_node* node = shape_.find_with_bodies(origin);
  if (node == nullptr || !may_be_disabled(*node)) return CUDA_ERROR_INVALID_VALUE;
  const auto disabled = disabled_.find(node);
  if (enabled == (disabled == disabled_.end())) return CUDA_SUCCESS;
  make_plan_own();
  engine::operation& now = operations_of(*node).front();
  if (enabled) {
    now = disabled->second;
    disabled_.erase(disabled);
  } else {
    disabled_.emplace(node, now);
    now = no_operation();
  }
  return CUDA_SUCCESS;
}

CUresult graph_exec::get_enabled(CUgraphNode origin, bool& enabled) {
  const std::lock_guard lock{mutex_};
  const exec_node* node = shape_.find_with_bodies(origin);
  if (node == nullptr || !may_be_disabled(*node)) return CUDA_ERROR_INVALID_VALUE;
  enabled = !disabled_.contains(node);
  return CUDA_SUCCESS;
}

bool graph_exec::may_be_disabled(const exec_node& node) noexcept {
  return node.kind == node_params{set_params{}}.index() || node.kind == node_params{copy_params{}}.index() ||
         node.kind == node_params{kernel_params{}}.index();
}

}  // namespace weir::embedded::model
