// SPDX-License-Identifier: Apache-2.0
// model/graph/conditional.hpp - conditional nodes: their conditions, their bodies, and the
// operations of a launch plan that run them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "driver/abi.hpp"
#include "embedded/kernel/condition_values.hpp"
#include "embedded/model/graph/graph_node.hpp"

namespace weir::embedded::model {

class context;
class graph;
class launch_plan;

// A condition: the value that a conditional node reads, named by a CUgraphConditionalHandle.
// Objects are reused (handle_table.hpp). Guarded by the lock of the graphs.
struct condition {
  // The graph for which the handle was created.
  graph* owner = nullptr;
  graph_node* used_by = nullptr;  // the conditional node that reads it; null until there is one
  // The context that the program gave when it created the handle. A node must have this context.
  const context* owner_context = nullptr;
  // The value at the start of each launch, used only if assign_default is true.
  std::uint32_t default_launch_value = 0;
  // True if each launch first sets the value to default_launch_value. If false, a launch starts
  // with the value that the previous launch left.
  bool assign_default = false;
  // Shared, because kernels of an executable may set the value after the graph is destroyed.
  std::shared_ptr<kernel::condition_value> value;

  [[nodiscard]] abi::CUgraphConditionalHandle handle() const noexcept;
  // Returns the condition with this handle, or null if the handle is invalid.
  [[nodiscard]] static condition* find(abi::CUgraphConditionalHandle handle) noexcept;
};

// Makes a condition that a node of the graph, of a subgraph, or of an enclosing graph may use. The
// condition is destroyed with the graph. `flags`: CU_GRAPH_COND_ASSIGN_DEFAULT or 0. Throws
// std::bad_alloc.
condition& make_condition(graph& owner, const context& owner_context,
                          std::uint32_t default_launch_value, unsigned flags);
// Destroys all conditions of a graph. Their handles become invalid.
void destroy_conditions(graph& owner) noexcept;

// Returns true if a node of this type may have `count` bodies.
[[nodiscard]] bool may_have_bodies(abi::CUgraphConditionalNodeType type, unsigned count) noexcept;

// Adds a node with `bodies` empty body graphs, controlled by a condition that no node uses yet.
// Throws std::bad_alloc without adding anything.
graph_node& add_conditional(graph& owner, condition& controlling_condition,
                            abi::CUgraphConditionalNodeType type, unsigned bodies,
                            std::span<graph_node* const> predecessors);

// Called when a conditional node is destroyed. Another node may then use its condition.
void release_condition(const conditional_params& params) noexcept;

// Returns true if a condition was made for the graph or a subgraph, used by a node or not.
[[nodiscard]] bool has_conditions(const graph& source_graph) noexcept;

// Returns true if the graph or a subgraph has a condition that no node uses. Such a graph cannot be
// instantiated.
[[nodiscard]] bool has_unused_condition(const graph& source_graph) noexcept;
// Returns a node of a body whose kind is not allowed in bodies, or null.
[[nodiscard]] graph_node* find_unsupported_node(const graph& source_graph) noexcept;

// A conditional node of a launch plan. Each body is a range of launch_plan::operations, after the
// operations of all steps (the units in which the engine runs a plan, see launch_plan.hpp). The
// operations of a body run one after the other, because a body contains no node that may block.
struct plan_conditional {
  struct body {
    std::uint32_t first_operation = 0;
    std::uint32_t operations = 0;
  };

  abi::CUgraphConditionalNodeType type = abi::CU_GRAPH_COND_TYPE_IF;
  bool assign_default = false;
  std::uint32_t default_launch_value = 0;
  std::shared_ptr<kernel::condition_value> value;  // null if the condition no longer exists
  std::vector<body> bodies;
};

// Makes the node read the condition of this handle. Does nothing if the condition no longer exists.
void set_condition(plan_conditional& node, abi::CUgraphConditionalHandle handle) noexcept;

// Returns the conditional node of a plan for these parameters. Its bodies are still empty ranges.
[[nodiscard]] plan_conditional make_plan_conditional(const conditional_params& params);

// The operation of a conditional node in a plan: runs the bodies that the condition selects.
struct conditional_work {
  launch_plan* plan;
  // The index of the node in launch_plan::conditionals.
  std::uint32_t number;

  void run() const noexcept;
};

// The first operation of a launch: sets each condition with `assign_default` to its default value.
struct assign_conditions {
  launch_plan* plan;

  void run() const noexcept;
};

}  // namespace weir::embedded::model
