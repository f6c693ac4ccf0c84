// model/conditional.hpp - conditional nodes: conditions, bodies, and what a plan does about them.
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

// What a conditional handle stands for. Objects are reused (handle_table.hpp). Guarded by the lock
// of the graphs.
struct condition {
  graph* of = nullptr;
  graph_node* used_by = nullptr;  // one node at most
  const context* in = nullptr;
  std::uint32_t default_launch_value = 0;
  bool assign_default = false;  // else it keeps the value of the launch before
  std::shared_ptr<kernel::condition_value>
      value;  // kernels of executables set it also when the graph is gone

  [[nodiscard]] abi::CUgraphConditionalHandle handle() const noexcept;
  [[nodiscard]] static condition* find(abi::CUgraphConditionalHandle handle) noexcept;
};

// One for a node of the graph, of a part of it, or of a graph around it. It ends with the graph.
// Throws std::bad_alloc.
condition& make_condition(graph& of, const context& in, std::uint32_t default_launch_value,
                          bool assign_default);
void destroy_conditions(graph& of) noexcept;

// May a node of this type have so many bodies?
[[nodiscard]] bool may_have_bodies(abi::CUgraphConditionalNodeType type, unsigned count) noexcept;

// Adds a node with so many bodies, which are empty graphs of its own, by a condition that no node
// uses yet. Throws std::bad_alloc, and then nothing was added.
graph_node& add_conditional(graph& to, condition& by, abi::CUgraphConditionalNodeType type,
                            unsigned bodies, std::span<graph_node* const> predecessors);

// The node goes; another may use its condition.
void release_condition(const conditional_params& of) noexcept;

// Has the graph, or a child graph of it, such nodes?
[[nodiscard]] bool has_conditional_nodes(const graph& in) noexcept;

// Why a graph with conditional nodes, or with conditions, cannot be instantiated.
[[nodiscard]] bool has_unused_condition(const graph& in) noexcept;
[[nodiscard]] graph_node* find_unsupported_node(
    const graph& in) noexcept;  // a node that no body may hold, in a body; or null

// A conditional node of a plan. A body is operations of the plan, one after the other and behind
// those of all steps: nothing that a body may hold is ever held up.
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

// Makes it the condition of the node, unless it is gone.
void set_condition(plan_conditional& of, abi::CUgraphConditionalHandle to) noexcept;

// What the node with these parameters is in a plan, before its bodies are compiled.
[[nodiscard]] plan_conditional make_plan_conditional(const conditional_params& params);

// Runs the bodies that the condition tells, as one operation of a plan.
struct conditional_work {
  launch_plan* in;
  std::uint32_t number;

  void run() const noexcept;
};

// Gives the conditions the values that they begin a launch with: before all else of the launch.
struct assign_conditions {
  launch_plan* in;

  void run() const noexcept;
};

}  // namespace weir::embedded::model
