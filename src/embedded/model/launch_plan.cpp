// model/launch_plan.cpp - compiling a graph: lanes chosen, runs put together.
#include "embedded/model/launch_plan.hpp"

#include <algorithm>

#include "embedded/model/flat_graph.hpp"
#include "embedded/model/graph.hpp"
#include "embedded/model/node_operations.hpp"

namespace weir::embedded::model {

using namespace abi;
using engine::operation;
using engine::operation_kind;

namespace {

constexpr std::uint32_t none = flat_graph::none;

// From this many lanes on, nodes that only host functions hold up share lanes: those have one thread between them.
constexpr std::uint32_t many_lanes = 32;

// What the choice of lanes remembers of one.
struct lane_so_far {
  std::uint32_t last = none;  // node
  bool waits = false;         // has one that waits
};

class compiler {
 public:
  compiler(const flat_graph& of, launch_plan& into, std::vector<place_in_plan>& places)
      : flat_{of}, plan_{into}, places_{places} {}

  void choose_lanes();
  void make_steps();
  void make_bodies();

 private:
  std::uint32_t lane_for(std::uint32_t node);
  void make_step(std::uint32_t node);
  void add_waits(std::uint32_t node, plan_step& step);
  std::uint32_t number_of(plan_step& awaited);
  void add_operation(std::uint32_t number, plan_step& step);
  [[nodiscard]] std::uint32_t last_step() const { return static_cast<std::uint32_t>(plan_.steps.size() - 1); }

  const flat_graph& flat_;
  launch_plan& plan_;
  std::vector<place_in_plan>& places_;   // of each node
  std::vector<std::uint32_t> lane_of_;   // each node
  std::vector<std::uint32_t> sequence_;  // nodes in the order in which lanes are filled
  std::vector<lane_so_far> lanes_;
  std::uint32_t shared_lane_ = 0;      // the last that was given to a node that needs none of its own
  std::vector<std::uint32_t> latest_;  // of each lane, the step that a node waits for; scratch of add_waits()
};

// All nodes that nothing can hold up come first, in lane 0.
void compiler::choose_lanes() {
  lane_of_.assign(flat_.size(), 0);
  sequence_.reserve(flat_.outside());
  for (std::uint32_t i = 0; i < flat_.outside(); ++i) {
    if (!flat_.nodes()[i].held) sequence_.push_back(i);
  }
  lanes_.push_back({sequence_.empty() ? none : sequence_.back()});
  for (std::uint32_t i = 0; i < flat_.outside(); ++i) {
    const flat_node& node = flat_.nodes()[i];
    if (!node.held) continue;
    sequence_.push_back(i);
    lane_of_[i] = lane_for(i);
    lane_so_far& lane = lanes_[lane_of_[i]];
    lane.last = i;
    lane.waits = lane.waits || node.waits;
  }
  plan_.lanes = static_cast<std::uint32_t>(lanes_.size());
}

// A node goes on where one that it depends on has ended, or in a lane of its own.
std::uint32_t compiler::lane_for(std::uint32_t node) {
  if (lanes_[0].last == none) return 0;
  for (const std::uint32_t before : flat_.dependencies_of(node)) {
    if (lanes_[lane_of_[before]].last == before) return lane_of_[before];
  }
  if (!flat_.nodes()[node].waits && lanes_.size() >= many_lanes) {
    for (std::uint32_t tries = 1; tries < many_lanes; ++tries) {
      shared_lane_ = shared_lane_ % (many_lanes - 1) + 1;
      if (!lanes_[shared_lane_].waits) return shared_lane_;
    }
  }
  lanes_.push_back({});
  return static_cast<std::uint32_t>(lanes_.size() - 1);
}

void compiler::make_steps() {
  places_.assign(flat_.size(), {});
  latest_.assign(plan_.lanes, none);
  plan_.operations.reserve(flat_.size());
  for (const std::uint32_t node : sequence_) make_step(node);
}

// A step that others wait for has a number.
std::uint32_t compiler::number_of(plan_step& awaited) {
  if (awaited.awaited_as == plan_step::no_number) awaited.awaited_as = plan_.awaited_steps++;
  return awaited.awaited_as;
}

// Of several steps in one lane, the last is enough.
void compiler::add_waits(std::uint32_t node, plan_step& step) {
  step.first_wait = static_cast<std::uint32_t>(plan_.waits.size());
  for (const std::uint32_t before : flat_.dependencies_of(node)) {
    std::uint32_t& latest = latest_[lane_of_[before]];
    const std::uint32_t awaited = places_[before].step;
    if (lane_of_[before] != step.lane && (latest == none || latest < awaited)) latest = awaited;
  }
  for (const std::uint32_t before : flat_.dependencies_of(node)) {
    std::uint32_t& latest = latest_[lane_of_[before]];
    if (latest != none) plan_.waits.push_back(number_of(plan_.steps[latest]));
    latest = none;
  }
  step.waits = static_cast<std::uint32_t>(plan_.waits.size()) - step.first_wait;
}

void compiler::make_step(std::uint32_t node) {
  plan_step step;
  step.lane = lane_of_[node];
  add_waits(node, step);

  place_in_plan& place = places_[node];
  place.first_operation = static_cast<std::uint32_t>(plan_.operations.size());
  if (const graph_node* of = flat_.nodes()[node].node; of != nullptr) {
    if (const auto* record = std::get_if<record_params>(&of->params)) {
      step.kind = step_kind::record_event;
      step.event = record->event;
    } else if (const auto* wait = std::get_if<wait_params>(&of->params)) {
      step.kind = step_kind::wait_event;
      step.event = wait->event;
    } else {
      append_operations(of->params, plan_);
    }
  }
  place.operations = static_cast<std::uint32_t>(plan_.operations.size()) - place.first_operation;

  if (place.operations != 0) {
    for (std::uint32_t i = 0; i < place.operations; ++i) add_operation(place.first_operation + i, step);
  } else {
    // With neither work nor waits it is complete where its lane is anyhow.
    const bool nothing =
        step.kind == step_kind::join && step.waits == 0 && !plan_.steps.empty() && plan_.steps.back().lane == step.lane;
    if (!nothing) plan_.steps.push_back(step);
  }
  place.step = last_step();
}

// Behind the operations of all steps: the operations of a body are one after the other.
void compiler::make_bodies() {
  for (const flat_graph::body& body : flat_.bodies()) {
    const auto first = static_cast<std::uint32_t>(plan_.operations.size());
    for (std::uint32_t node = body.first; node < body.first + body.size; ++node) {
      place_in_plan& place = places_[node];
      place.first_operation = static_cast<std::uint32_t>(plan_.operations.size());
      if (const graph_node* of = flat_.nodes()[node].node; of != nullptr) append_operations(of->params, plan_);
      place.operations = static_cast<std::uint32_t>(plan_.operations.size()) - place.first_operation;
      place.step = places_[body.conditional].step;
    }
    const auto count = static_cast<std::uint32_t>(plan_.operations.size()) - first;
    operation& conditional = plan_.operations[places_[body.conditional].first_operation];
    plan_.conditionals[conditional.as<conditional_work>().number].bodies[body.which] = {first, count};
  }
}

// An operation that the engine need not see joins the run before, if nothing is in between. The waits of the step go
// with its first operation.
void compiler::add_operation(std::uint32_t number, plan_step& step) {
  const operation_kind kind = plan_.operations[number].kind;
  const bool takes_long = kind == operation_kind::long_work;
  const bool plain = takes_long || kind == operation_kind::work;
  plan_step* const before = plan_.steps.empty() ? nullptr : &plan_.steps.back();
  if (plain && step.waits == 0 && before != nullptr && before->kind == step_kind::run && before->lane == step.lane &&
      before->awaited_as == plan_step::no_number) {
    ++before->operations;
    before->takes_long = before->takes_long || takes_long;
    return;
  }
  step.kind = plain ? step_kind::run : step_kind::alone;
  step.first_operation = number;
  step.operations = 1;
  step.takes_long = takes_long;
  plan_.steps.push_back(step);
  step.waits = 0;
}

}  // namespace

launch_plan::launch_plan(const launch_plan& other)
    : steps{other.steps},
      waits{other.waits},
      operations{other.operations},
      conditionals{other.conditionals},
      condition_values{other.condition_values},
      lanes{other.lanes},
      awaited_steps{other.awaited_steps},
      uses_words{other.uses_words},
      memory{other.memory} {
  pitched_copies.reserve(other.pitched_copies.size());
  for (const auto& copy : other.pitched_copies) pitched_copies.push_back(std::make_unique<pitched_copy_work>(*copy));
  for (engine::operation& operation : operations) refer_to_copies_of(*this, operation);
  kept_alive.share(other.kept_alive);
}

std::atomic<std::uint32_t>* launch_plan::condition_of(CUgraphConditionalHandle handle) const noexcept {
  const auto found = std::ranges::find(conditionals, handle, &plan_conditional::condition);
  return found == conditionals.end() ? nullptr : &condition_values[found - conditionals.begin()];
}

plan_reference compile(const graph& from, const std::vector<graph_node*>& order, std::vector<place_in_plan>& places) {
  auto* const plan = new launch_plan;
  plan_reference made{plan};
  const flat_graph flat{order};
  compiler work{flat, *plan, places};
  work.choose_lanes();
  work.make_steps();
  work.make_bodies();
  if (!plan->conditionals.empty())
    plan->condition_values.reset(new std::atomic<std::uint32_t>[plan->conditionals.size()] {});
  from.share_kept_alive(plan->kept_alive);
  plan->memory = graph_memory::use_of(from);
  return made;
}

}  // namespace weir::embedded::model
