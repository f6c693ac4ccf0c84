// SPDX-License-Identifier: Apache-2.0
// model/graph/conditional.hpp - conditional nodes: conditions, bodies, and their part of a plan.
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

// The object of a conditional handle. Objects are reused (handle_table.hpp). Guarded by the lock of
// the graphs.
struct condition {
  graph* owner = nullptr;
  graph_node* used_by = nullptr;  // at most one node
  const context* owner_context = nullptr;
  std::uint32_t default_launch_value = 0;
  bool assign_default = false;  // if false, it keeps its value from the previous launch
  // Shared, because kernels of executables may set it after the graph is destroyed.
  std::shared_ptr<kernel::condition_value> value;

  [[nodiscard]] abi::CUgraphConditionalHandle handle() const noexcept;
  [[nodiscard]] static condition* find(abi::CUgraphConditionalHandle handle) noexcept;
};

// Makes a condition for a node of the graph, of a subgraph, or of an enclosing graph. It is
// destroyed with the graph. `flags`: CU_GRAPH_COND_ASSIGN_DEFAULT or 0. Throws std::bad_alloc.
condition& make_condition(graph& owner, const context& owner_context,
                          std::uint32_t default_launch_value, unsigned flags);
void destroy_conditions(graph& owner) noexcept;

// Returns true if a node of this type may have `count` bodies.
[[nodiscard]] bool may_have_bodies(abi::CUgraphConditionalNodeType type, unsigned count) noexcept;

// Adds a node with `bodies` empty body graphs, controlled by a condition that no node uses yet.
// Throws std::bad_alloc without adding anything.
graph_node& add_conditional(graph& owner, condition& controlling_condition,
                            abi::CUgraphConditionalNodeType type, unsigned bodies,
                            std::span<graph_node* const> predecessors);

// Called when the node is destroyed; another node may then use its condition.
void release_condition(const conditional_params& params) noexcept;

// Returns true if the graph or a child graph has conditional nodes.
[[nodiscard]] bool has_conditional_nodes(const graph& source_graph) noexcept;

// Returns true if a condition has no node, in which case the graph cannot be instantiated.
[[nodiscard]] bool has_unused_condition(const graph& source_graph) noexcept;
// Returns a node in a body that bodies may not contain, or null.
[[nodiscard]] graph_node* find_unsupported_node(const graph& source_graph) noexcept;

// A conditional node of a plan. A body is a range of the plan's operations, after those of all
// steps. They run one after the other, because a body contains no node that may block.
struct plan_conditional {
  struct body {
    std::uint32_t first_operation = 0;
    std::uint32_t operations = 0;
  };

  abi::CUgraphConditionalNodeType type = abi::CU_GRAPH_COND_TYPE_IF;
  bool assign_default = false;
  std::uint32_t default_launch_value = 0;
  std::shared_ptr<kernel::condition_value> value;
  std::vector<body> bodies;
};

// Sets the condition of the node, unless the condition no longer exists.
void set_condition(plan_conditional& node, abi::CUgraphConditionalHandle handle) noexcept;

// Returns the plan's node for these parameters, before its bodies are compiled.
[[nodiscard]] plan_conditional make_plan_conditional(const conditional_params& params);

// Runs the bodies that the condition selects, as one operation of a plan.
struct conditional_work {
  launch_plan* plan;
  std::uint32_t number;

  void run() const noexcept;
};

// Sets the conditions to their launch defaults, before all other work of a launch.
struct assign_conditions {
  launch_plan* plan;

  void run() const noexcept;
};

}  // namespace weir::embedded::model
