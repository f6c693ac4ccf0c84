// model/launch_plan.cpp - compiling a graph: children flattened, lanes chosen, runs put together.
#include "embedded/model/launch_plan.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include "embedded/model/graph.hpp"
#include "embedded/model/node_work.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

// A node of the flattened graph. A child graph is two of them without work, before and behind its nodes.
struct flat_node {
  const graph_node* node;  // null: no work
  std::uint32_t first_dependency;
  std::uint32_t dependencies = 0;
  bool held = false;  // may be held up, or depends on one that may be
  std::uint32_t lane = none;
  std::uint32_t step = none;
  std::uint32_t first_operation = 0;
  std::uint32_t operations = 0;
};

// May the node wait for something outside the graph, or run for as long as the program likes?
bool may_be_held_up(const graph_node& node) {
  if (const auto* values = std::get_if<value_params>(&node.params)) {
    return std::ranges::any_of(values->operations, [](const CUstreamBatchMemOpParams& op) { return is_wait(op); });
  }
  return std::holds_alternative<CUDA_HOST_NODE_PARAMS>(node.params) || std::holds_alternative<wait_params>(node.params);
}

class compiler {
 public:
  explicit compiler(launch_plan& into) : plan_{into} {}

  void flatten(const std::vector<graph_node*>& order, std::uint32_t behind);
  void choose_lanes();
  void make_steps();
  [[nodiscard]] std::vector<place_in_plan> places() const;

 private:
  std::uint32_t add(const graph_node* node) {
    nodes_.push_back({node, static_cast<std::uint32_t>(dependencies_.size())});
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  void depend_on(std::uint32_t other) {
    dependencies_.push_back(other);
    ++nodes_.back().dependencies;
  }
  [[nodiscard]] std::span<const std::uint32_t> dependencies_of(const flat_node& node) const {
    return std::span{dependencies_}.subspan(node.first_dependency, node.dependencies);
  }

  void make_step(flat_node& node);
  void add_waits(const flat_node& node, plan_step& step);
  std::uint32_t number_of(plan_step& awaited);

  launch_plan& plan_;
  std::vector<flat_node> nodes_;  // each comes after those that it depends on
  std::vector<std::uint32_t> dependencies_;
  std::vector<std::uint32_t> sequence_;  // the order in which lanes are filled
  std::vector<std::uint32_t> latest_;    // of each lane, the step that a node waits for; scratch of add_waits()
};

// The nodes' marks tell where they are in the flattened graph; for a child graph, where it ends.
void compiler::flatten(const std::vector<graph_node*>& order, std::uint32_t behind) {
  for (graph_node* node : order) {
    const auto* child = std::get_if<child_params>(&node->params);
    const std::uint32_t begin = add(child == nullptr ? node : nullptr);
    if (behind != none && node->dependencies.empty()) depend_on(behind);
    for (const graph_node* before : node->dependencies) depend_on(static_cast<std::uint32_t>(before->mark));
    node->mark = begin;
    if (child == nullptr) continue;
    const std::vector<graph_node*> inside = child->embedded->in_order();
    flatten(inside, begin);
    node->mark = add(nullptr);
    depend_on(begin);
    for (const graph_node* last : inside) {
      if (last->dependents.empty()) depend_on(static_cast<std::uint32_t>(last->mark));
    }
  }
}

// All nodes that nothing can hold up come first, in lane 0. Each other goes on where one that it depends on has ended.
void compiler::choose_lanes() {
  sequence_.reserve(nodes_.size());
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    flat_node& node = nodes_[i];
    node.held = (node.node != nullptr && may_be_held_up(*node.node)) ||
                std::ranges::any_of(dependencies_of(node), [&](std::uint32_t before) { return nodes_[before].held; });
    if (!node.held) {
      node.lane = 0;
      sequence_.push_back(i);
    }
  }
  std::vector<std::uint32_t> last{sequence_.empty() ? none : sequence_.back()};  // of each lane
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    flat_node& node = nodes_[i];
    if (!node.held) continue;
    sequence_.push_back(i);
    if (last[0] == none) node.lane = 0;
    for (const std::uint32_t before : dependencies_of(node)) {
      if (last[nodes_[before].lane] == before) node.lane = nodes_[before].lane;
    }
    if (node.lane == none) {
      node.lane = static_cast<std::uint32_t>(last.size());
      last.push_back(none);
    }
    last[node.lane] = i;
  }
  plan_.lanes = static_cast<std::uint32_t>(last.size());
}

void compiler::make_steps() {
  latest_.assign(plan_.lanes, none);
  for (const std::uint32_t i : sequence_) make_step(nodes_[i]);
}

// A step that others wait for has a number.
std::uint32_t compiler::number_of(plan_step& awaited) {
  if (awaited.awaited_as == plan_step::no_number) awaited.awaited_as = plan_.awaited_steps++;
  return awaited.awaited_as;
}

// Of several in one lane, the last is enough.
void compiler::add_waits(const flat_node& node, plan_step& step) {
  step.first_wait = static_cast<std::uint32_t>(plan_.waits.size());
  for (const std::uint32_t before : dependencies_of(node)) {
    const flat_node& awaited = nodes_[before];
    std::uint32_t& latest = latest_[awaited.lane];
    if (awaited.lane != node.lane && (latest == none || latest < awaited.step)) latest = awaited.step;
  }
  for (const std::uint32_t before : dependencies_of(node)) {
    std::uint32_t& latest = latest_[nodes_[before].lane];
    if (latest != none) plan_.waits.push_back(number_of(plan_.steps[latest]));
    latest = none;
  }
  step.waits = static_cast<std::uint32_t>(plan_.waits.size()) - step.first_wait;
}

void compiler::make_step(flat_node& node) {
  plan_step step;
  step.lane = node.lane;
  add_waits(node, step);

  const auto first = static_cast<std::uint32_t>(plan_.operations.size());
  if (node.node != nullptr) {
    if (const auto* record = std::get_if<record_params>(&node.node->params)) {
      step.kind = step_kind::record_event;
      step.event = record->event;
    } else if (const auto* wait = std::get_if<wait_params>(&node.node->params)) {
      step.kind = step_kind::wait_event;
      step.event = wait->event;
    } else {
      append_operations(node.node->params, plan_);
    }
  }
  node.first_operation = first;
  node.operations = static_cast<std::uint32_t>(plan_.operations.size()) - first;

  // Operations that the engine need not see join the run before, if nothing is in between.
  const auto add_step = [&](const plan_step& made) {
    plan_.steps.push_back(made);
    node.step = static_cast<std::uint32_t>(plan_.steps.size() - 1);
  };
  for (std::uint32_t i = first; i < plan_.operations.size(); ++i) {
    const engine::operation_kind kind = plan_.operations[i].kind;
    const bool takes_long = kind == engine::operation_kind::long_work;
    const bool plain = takes_long || kind == engine::operation_kind::work;
    plan_step* before = plan_.steps.empty() ? nullptr : &plan_.steps.back();
    const bool goes_on = plain && step.waits == 0 && before != nullptr && before->kind == step_kind::run &&
                         before->lane == step.lane && before->awaited_as == plan_step::no_number;
    if (goes_on) {
      ++before->operations;
      before->takes_long = before->takes_long || takes_long;
      node.step = static_cast<std::uint32_t>(plan_.steps.size() - 1);
    } else {
      step.kind = plain ? step_kind::run : step_kind::alone;
      step.first_operation = i;
      step.operations = 1;
      step.takes_long = takes_long;
      add_step(step);
      step.waits = 0;
    }
  }
  if (node.step == none) {
    // Without work and without waits it is complete where the lane is anyhow.
    const bool nothing =
        step.kind == step_kind::join && step.waits == 0 && !plan_.steps.empty() && plan_.steps.back().lane == step.lane;
    if (nothing) {
      node.step = static_cast<std::uint32_t>(plan_.steps.size() - 1);
    } else {
      add_step(step);
    }
  }
}

std::vector<place_in_plan> compiler::places() const {
  std::vector<place_in_plan> all;
  all.reserve(nodes_.size());
  for (const flat_node& node : nodes_) all.push_back({node.first_operation, node.operations, node.step});
  return all;
}

}  // namespace

launch_plan::launch_plan(const launch_plan& other)
    : steps{other.steps},
      waits{other.waits},
      operations{other.operations},
      lanes{other.lanes},
      awaited_steps{other.awaited_steps} {
  pitched_copies.reserve(other.pitched_copies.size());
  for (const auto& copy : other.pitched_copies) pitched_copies.push_back(std::make_unique<pitched_copy_work>(*copy));
  for (engine::operation& operation : operations) refer_to_copies_of(*this, operation);
  kept_alive.share(other.kept_alive);
}

plan_reference compile(const graph& from, const std::vector<graph_node*>& order, std::vector<place_in_plan>& places) {
  auto* const plan = new launch_plan;
  plan_reference made{plan};
  compiler work{*plan};
  work.flatten(order, none);
  work.choose_lanes();
  work.make_steps();
  places = work.places();
  plan->kept_alive.share(from.kept_alive);
  return made;
}

}  // namespace weir::embedded::model
