// SPDX-License-Identifier: Apache-2.0
// model/graph/launch_plan.cpp - compiles a graph: assigns branches, and groups operations.
#include "embedded/model/graph/launch_plan.hpp"

#include <algorithm>

#include "embedded/model/graph/branch_assignment.hpp"
#include "embedded/model/graph/flat_graph.hpp"
#include "embedded/model/graph/graph.hpp"
#include "embedded/model/graph/node_operations.hpp"

namespace weir::embedded::model {

using namespace abi;
using engine::operation;
using engine::operation_kind;

namespace {

constexpr std::uint32_t no_node = flat_graph::none;

// The highest number of operations in a step with host functions. The limit exists because host
// functions of other streams can run only between two steps.
constexpr std::uint32_t max_host_functions_per_step = 64;

class compiler {
 public:
  compiler(const flat_graph& flat, const branch_options& options, launch_plan& plan,
           std::vector<plan_location>& locations)
      : flat_{flat},
        options_{options},
        assignment_{assign_branches(flat, options)},
        plan_{plan},
        locations_{locations} {}

  void make_steps();
  void make_bodies();

 private:
  void make_step(std::uint32_t node);
  void append_operations_of(std::uint32_t node);
  void add_waits(std::uint32_t node, plan_step& step);
  std::uint32_t awaited_index_of(plan_step& awaited);
  std::uint32_t add_operation(std::uint32_t number, plan_step& step, const plan_location& location);
  std::uint32_t add_step(const plan_step& step);
  [[nodiscard]] bool can_join(const operation& next_operation, const plan_step& step,
                              const plan_step& previous) const;
  void group_by_step();

  const flat_graph& flat_;
  const branch_options& options_;
  const branch_assignment assignment_;
  launch_plan& plan_;
  std::vector<plan_location>& locations_;  // the location of each node in flat_
  std::vector<std::uint32_t> last_step_;   // the last step of each branch
  // For each branch, the last step of it that a node waits for. Used only by add_waits(); all
  // `no_node` otherwise.
  std::vector<std::uint32_t> latest_;
  std::vector<std::uint32_t> step_of_;  // the step of each operation; empty if there is one branch
};

void compiler::make_steps() {
  plan_.branches = assignment_.branches;
  locations_.assign(flat_.size(), {});
  last_step_.assign(plan_.branches, no_node);
  latest_.assign(plan_.branches, no_node);
  plan_.operations.reserve(flat_.size());
  for (std::size_t i = 0; i < assignment_.sequence.size(); ++i) {
    const std::size_t later = std::min(i + prefetch_distance, assignment_.sequence.size() - 1);
    if (const graph_node* upcoming = flat_.nodes()[assignment_.sequence[later]].node)
      prefetch_node(upcoming);
    make_step(assignment_.sequence[i]);
  }
  if (!step_of_.empty()) group_by_step();
}

// Returns awaited_index of a step that steps of other branches wait for. Assigns the index at the
// first call.
std::uint32_t compiler::awaited_index_of(plan_step& awaited) {
  if (awaited.awaited_index == plan_step::no_index) awaited.awaited_index = plan_.awaited_steps++;
  return awaited.awaited_index;
}

// Adds the waits of the node's step for steps of other branches. If the node depends on several
// steps of one branch, the step waits only for the last of them.
void compiler::add_waits(std::uint32_t node, plan_step& step) {
  step.first_wait = static_cast<std::uint32_t>(plan_.waits.size());
  for (const std::uint32_t previous : flat_.dependencies_of(node)) {
    std::uint32_t& latest = latest_[assignment_.branch_of[previous]];
    const std::uint32_t awaited = locations_[previous].step;
    if (assignment_.branch_of[previous] != step.branch && (latest == no_node || latest < awaited))
      latest = awaited;
  }
  for (const std::uint32_t previous : flat_.dependencies_of(node)) {
    std::uint32_t& latest = latest_[assignment_.branch_of[previous]];
    if (latest != no_node) plan_.waits.push_back(awaited_index_of(plan_.steps[latest]));
    latest = no_node;
  }
  step.waits = static_cast<std::uint32_t>(plan_.waits.size()) - step.first_wait;
}

// Appends the operations of a node, and stores their range as its location.
void compiler::append_operations_of(std::uint32_t node) {
  plan_location& location = locations_[node];
  location.first_operation = static_cast<std::uint32_t>(plan_.operations.size());
  if (const graph_node* source = flat_.nodes()[node].node) append_operations(source->params, plan_);
  location.operations =
      static_cast<std::uint32_t>(plan_.operations.size()) - location.first_operation;
}

// Compiles a node to operations at the end of its branch, preceded by the waits for other branches.
void compiler::make_step(std::uint32_t node) {
  plan_step step;
  step.branch = assignment_.branch_of[node];
  add_waits(node, step);

  append_operations_of(node);
  plan_location& location = locations_[node];
  if (const graph_node* source = flat_.nodes()[node].node; source != nullptr) {
    if (const auto* record = std::get_if<record_params>(&source->params)) {
      step.kind = step_kind::record_event;
      step.event = record->event;
    } else if (const auto* wait = std::get_if<wait_params>(&source->params)) {
      step.kind = step_kind::wait_event;
      step.event = wait->event;
    }
  }
  for (std::uint32_t i = 0; i < location.operations; ++i)
    location.step = add_operation(location.first_operation + i, step, location);
  if (location.operations != 0) return;
  // A node without work and waits needs no step: it is complete when the last step of its branch
  // is.
  const bool needs_no_step =
      step.kind == step_kind::join && step.waits == 0 && last_step_[step.branch] != no_node;
  location.step = needs_no_step ? last_step_[step.branch] : add_step(step);
}

std::uint32_t compiler::add_step(const plan_step& step) {
  plan_.steps.push_back(step);
  return last_step_[step.branch] = static_cast<std::uint32_t>(plan_.steps.size() - 1);
}

// Returns true if an operation can extend `previous`, the last step of its branch. Returns false if
// the operation waits for another branch, if another branch waits for `previous`, or if the engine
// orders nodes singly. A `run` step takes no host function. A `host_run` step takes only few
// operations and no long work, because host functions of other streams wait for its end.
bool compiler::can_join(const operation& next_operation, const plan_step& step,
                        const plan_step& previous) const {
  if (step.waits != 0 || previous.awaited_index != plan_step::no_index || options_.node_by_node)
    return false;
  if (previous.kind == step_kind::run) return next_operation.kind != operation_kind::host;
  return previous.kind == step_kind::host_run && next_operation.kind != operation_kind::long_work &&
         previous.operations < max_host_functions_per_step;
}

// Adds an operation of a node to the last step of its branch, or makes a new step from `step`.
// Returns the index of that step. Clears the waits of `step` when it makes a new step, because only
// the node's first operation waits. The operations of a node stay consecutive: if a node has
// several, each gets a step of its own.
std::uint32_t compiler::add_operation(std::uint32_t number, plan_step& step,
                                      const plan_location& location) {
  const operation& added = plan_.operations[number];
  const bool is_wait = added.kind == operation_kind::wait_value;
  const bool is_long = added.kind == operation_kind::long_work;
  std::uint32_t index = last_step_[step.branch];
  if (!is_wait && location.operations == 1 && index != no_node &&
      can_join(added, step, plan_.steps[index])) {
    ++plan_.steps[index].operations;
    plan_.steps[index].is_long = plan_.steps[index].is_long || is_long;
  } else {
    step.kind = is_wait                              ? step_kind::alone
                : added.kind == operation_kind::host ? step_kind::host_run
                                                     : step_kind::run;
    step.first_operation = number;
    step.operations = 1;
    step.is_long = is_long;
    index = add_step(step);
    step.waits = 0;
  }
  if (plan_.branches != 1) step_of_.push_back(index);
  return index;
}

// Moves the operations of each step next to each other. So far, operations of different branches
// alternate, because nodes were compiled in topological order.
void compiler::group_by_step() {
  std::uint32_t next = 0;
  for (plan_step& step : plan_.steps) {
    step.first_operation = next;
    next += step.operations;
  }
  if (std::ranges::is_sorted(step_of_)) return;
  std::vector<std::uint32_t> filled(plan_.steps.size());
  std::vector<std::uint32_t> moved_index(step_of_.size());
  std::vector<operation> moved(plan_.operations.size());
  for (std::uint32_t i = 0; i < step_of_.size(); ++i) {
    const std::uint32_t step = step_of_[i];
    moved_index[i] = plan_.steps[step].first_operation + filled[step]++;
    moved[moved_index[i]] = plan_.operations[i];
  }
  plan_.operations = std::move(moved);
  for (std::uint32_t node = 0; node < flat_.outer_node_count(); ++node) {
    plan_location& location = locations_[node];
    if (location.operations != 0) location.first_operation = moved_index[location.first_operation];
  }
}

// Compiles the bodies after the operations of all steps. The operations of a body are consecutive.
void compiler::make_bodies() {
  for (const flat_graph::body& body : flat_.bodies()) {
    const auto first = static_cast<std::uint32_t>(plan_.operations.size());
    for (std::uint32_t node = body.first; node < body.first + body.size; ++node) {
      append_operations_of(node);
      locations_[node].step = locations_[body.conditional].step;
    }
    const auto count = static_cast<std::uint32_t>(plan_.operations.size()) - first;
    operation& conditional = plan_.operations[locations_[body.conditional].first_operation];
    plan_.conditionals[conditional.as<conditional_work>().number].bodies[body.index] = {first,
                                                                                        count};
  }
}

}  // namespace

launch_plan::launch_plan(const launch_plan& source) : plan_contents{source} {
  for (engine::operation& operation : operations) rebind_to_plan(*this, operation);
}

plan_reference compile(const graph& source_graph, const std::vector<graph_node*>& order,
                       std::vector<plan_location>& locations) {
  plan_reference plan{new launch_plan};
  const flat_graph flat{order};
  const branch_options options = branch_options::from_schedule();
  compiler work{flat, options, *plan, locations};
  work.make_steps();
  work.make_bodies();
  source_graph.share_retained_objects(plan->retained_objects);
  plan->memory = graph_memory::usage_of(source_graph);
  return plan;
}

}  // namespace weir::embedded::model
