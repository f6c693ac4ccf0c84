// SPDX-License-Identifier: Apache-2.0
// model/graph/conditional.cpp - makes conditions, checks bodies, and runs them.
#include "embedded/model/graph/conditional.hpp"

#include <algorithm>

#include "embedded/engine/waiting.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/graph/graph.hpp"
#include "embedded/model/graph/launch_plan.hpp"

namespace weir::embedded::model {

using namespace abi;

CUgraphConditionalHandle condition::handle() const noexcept {
  return reinterpret_cast<std::uintptr_t>(this_process().conditions.handle_of(this));
}

condition* condition::find(CUgraphConditionalHandle handle) noexcept {
  return this_process().conditions.find(reinterpret_cast<const void*>(handle));
}

namespace {

void destroy_condition(condition& ended) noexcept {
  this_process().conditions.retire(&ended, this_process().conditions.handle_of(&ended));
  ended.value.reset();
  this_process().conditions.recycle(&ended);
}

}  // namespace

condition& make_condition(graph& owner, const context& owner_context,
                          std::uint32_t default_launch_value, unsigned flags) {
  condition* const created = this_process().conditions.acquire();
  const bool assign_default = (flags & CU_GRAPH_COND_ASSIGN_DEFAULT) != 0;
  *created = {&owner, nullptr, &owner_context, default_launch_value, assign_default, {}};
  this_process().conditions.publish(created);
  try {
    created->value = kernel::condition_value::make(created->handle());
    owner.conditions.push_back(created);
  } catch (...) {
    destroy_condition(*created);
    throw;
  }
  return *created;
}

void destroy_conditions(graph& owner) noexcept {
  for (condition* removed_condition : owner.conditions) destroy_condition(*removed_condition);
  owner.conditions.clear();
}

bool may_have_bodies(CUgraphConditionalNodeType type, unsigned count) noexcept {
  switch (type) {
    case CU_GRAPH_COND_TYPE_IF: return count == 1 || count == 2;
    case CU_GRAPH_COND_TYPE_WHILE: return count == 1;
    case CU_GRAPH_COND_TYPE_SWITCH: return count >= 1;
  }
  return false;
}

graph_node& add_conditional(graph& owner, condition& controlling_condition,
                            CUgraphConditionalNodeType type, unsigned bodies,
                            std::span<graph_node* const> predecessors) {
  graph_node& node = owner.add(empty_params{}, predecessors);
  try {
    auto& created = node.params.emplace<conditional_params>(
        conditional_params{controlling_condition.handle(), type, {}, {}});
    // Reserves memory first, so that no body is lost if memory runs out.
    created.bodies.reserve(bodies);
    created.handles.reserve(bodies);
    while (created.bodies.size() < bodies) {
      graph& body = graph::make();
      body.become_subgraph_of(owner, subgraph_kind::body);
      created.bodies.push_back(&body);
      created.handles.push_back(body.handle());
    }
  } catch (...) {
    owner.remove(node);
    throw;
  }
  controlling_condition.used_by = &node;
  return node;
}

void release_condition(const conditional_params& params) noexcept {
  if (condition* controlling_condition = condition::find(params.condition))
    controlling_condition->used_by = nullptr;
}

bool has_conditions(const graph& source_graph) noexcept {
  return !source_graph.conditions.empty() || source_graph.search_subgraphs(has_conditions);
}

bool has_unused_condition(const graph& source_graph) noexcept {
  const auto unused = [](const condition* c) { return c->used_by == nullptr; };
  return std::ranges::any_of(source_graph.conditions, unused) ||
         source_graph.search_subgraphs(has_unused_condition);
}

namespace {

bool may_be_in_body(const graph_node* node) noexcept {
  return is_any_of<empty_params, memset_params, copy_params, child_params, conditional_params,
                   kernel_params>(node->params);
}

graph_node* find_unsupported_in_body(const graph& source_graph) noexcept {
  const auto found = std::ranges::find_if_not(source_graph.nodes(), may_be_in_body);
  if (found != source_graph.nodes().end()) return *found;
  return source_graph.search_subgraphs(find_unsupported_in_body);
}

}  // namespace

graph_node* find_unsupported_node(const graph& source_graph) noexcept {
  return source_graph.search_subgraphs([](const graph& subgraph) {
    return subgraph.is_body() ? find_unsupported_in_body(subgraph)
                              : find_unsupported_node(subgraph);
  });
}

void set_condition(plan_conditional& node, abi::CUgraphConditionalHandle handle) noexcept {
  const condition* const controlling_condition = condition::find(handle);
  if (controlling_condition == nullptr) return;
  node.value = controlling_condition->value;
  node.assign_default = controlling_condition->assign_default;
  node.default_launch_value = controlling_condition->default_launch_value;
}

plan_conditional make_plan_conditional(const conditional_params& params) {
  plan_conditional created;
  created.type = params.type;
  created.bodies.resize(params.bodies.size());
  set_condition(created, params.condition);
  return created;
}

// An `if` or `switch` node reads the condition once, so that only one body runs even if that body
// changes the condition. A `while` node reads the condition before each iteration. Every body stops
// at an operation that makes the device fail.
void conditional_work::run() const noexcept {
  const plan_conditional& node = plan->conditionals[number];
  const kernel::condition_value* const condition = node.value.get();
  if (condition == nullptr) return;
  const auto run_body = [&](std::size_t index) {
    if (index >= node.bodies.size()) return;  // no else body, or no body for a switch value
    const plan_conditional::body& body = node.bodies[index];
    engine::operation* operation = plan->operations.data() + body.first_operation;
    engine::operation* const end = operation + body.operations;
    // An operation returns false if it has made the device fail. The rest is skipped then.
    while (operation != end && operation->body(*operation)) ++operation;
  };
  const std::uint32_t value = condition->get();
  switch (node.type) {
    case CU_GRAPH_COND_TYPE_IF: run_body(value != 0 ? 0 : 1); return;
    case CU_GRAPH_COND_TYPE_SWITCH: run_body(value); return;
    case CU_GRAPH_COND_TYPE_WHILE:
      while (condition->get() != 0 && engine::device_failure() == CUDA_SUCCESS) run_body(0);
      return;
  }
}

void assign_conditions::run() const noexcept {
  for (const plan_conditional& node : plan->conditionals) {
    if (node.assign_default && node.value != nullptr) node.value->set(node.default_launch_value);
  }
}

}  // namespace weir::embedded::model
