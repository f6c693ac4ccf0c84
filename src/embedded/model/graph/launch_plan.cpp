// model/launch_plan.cpp - compiling a graph: lanes chosen, runs put together.
#include "embedded/model/graph/launch_plan.hpp"

#include <algorithm>

#include "embedded/model/graph/flat_graph.hpp"
#include "embedded/model/graph/graph.hpp"
#include "embedded/model/graph/lane_choice.hpp"
#include "embedded/model/graph/node_operations.hpp"

namespace weir::embedded::model {

using namespace abi;
using engine::operation;
using engine::operation_kind;

namespace {

constexpr std::uint32_t none = flat_graph::none;

// Host functions of other streams have their turn after so many.
constexpr std::uint32_t longest_host_run = 64;

class compiler {
 public:
  compiler(const flat_graph& of, const lane_rules& by, launch_plan& into, std::vector<place_in_plan>& places)
      : flat_{of}, rules_{by}, chosen_{choose_lanes(of, by)}, plan_{into}, places_{places} {}

  void make_steps();
  void make_bodies();

 private:
  void make_step(std::uint32_t node);
  void add_waits(std::uint32_t node, plan_step& step);
  std::uint32_t number_of(plan_step& awaited);
  std::uint32_t add_operation(std::uint32_t number, plan_step& step, bool may_join);
  std::uint32_t add_step(const plan_step& step);
  [[nodiscard]] bool joins(const operation& what, const plan_step& step, const plan_step& before) const;
  void put_together();

  const flat_graph& flat_;
  const lane_rules& rules_;
  const lane_choice chosen_;
  launch_plan& plan_;
  std::vector<place_in_plan>& places_;  // of each node
  std::vector<std::uint32_t> last_of_;  // each lane, its last step
  std::vector<std::uint32_t> latest_;   // of each lane, the step that a node waits for; scratch of add_waits()
  std::vector<std::uint32_t> step_of_;  // of each operation, where there are several lanes
};

void compiler::make_steps() {
  plan_.lanes = chosen_.lanes;
  places_.assign(flat_.size(), {});
  last_of_.assign(plan_.lanes, none);
  latest_.assign(plan_.lanes, none);
  plan_.operations.reserve(flat_.size());
  for (std::size_t i = 0; i < chosen_.sequence.size(); ++i) {
    const std::size_t later = std::min(i + look_ahead_distance, chosen_.sequence.size() - 1);
    if (const graph_node* coming = flat_.nodes()[chosen_.sequence[later]].node) look_ahead(coming);
    make_step(chosen_.sequence[i]);
  }
  if (!step_of_.empty()) put_together();
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
    std::uint32_t& latest = latest_[chosen_.lane_of[before]];
    const std::uint32_t awaited = places_[before].step;
    if (chosen_.lane_of[before] != step.lane && (latest == none || latest < awaited)) latest = awaited;
  }
  for (const std::uint32_t before : flat_.dependencies_of(node)) {
    std::uint32_t& latest = latest_[chosen_.lane_of[before]];
    if (latest != none) plan_.waits.push_back(number_of(plan_.steps[latest]));
    latest = none;
  }
  step.waits = static_cast<std::uint32_t>(plan_.waits.size()) - step.first_wait;
}

void compiler::make_step(std::uint32_t node) {
  plan_step step;
  step.lane = chosen_.lane_of[node];
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

  // Several operations of a node stay beside each other: they join none of before.
  for (std::uint32_t i = 0; i < place.operations; ++i) {
    place.step = add_operation(place.first_operation + i, step, place.operations == 1);
  }
  if (place.operations != 0) return;
  // With neither work nor waits it is complete where its lane is anyhow.
  const bool nothing = step.kind == step_kind::join && step.waits == 0 && last_of_[step.lane] != none;
  place.step = nothing ? last_of_[step.lane] : add_step(step);
}

std::uint32_t compiler::add_step(const plan_step& step) {
  plan_.steps.push_back(step);
  return last_of_[step.lane] = static_cast<std::uint32_t>(plan_.steps.size() - 1);
}

// Does an operation go on with the run before it in its lane? Not where others wait for the end of that, and not where
// it comes after more than the run does.
bool compiler::joins(const operation& what, const plan_step& step, const plan_step& before) const {
  if (step.waits != 0 || before.awaited_as != plan_step::no_number || rules_.node_by_node) return false;
  if (before.kind == step_kind::run) return what.kind != operation_kind::host;
  return before.kind == step_kind::host_run && what.kind != operation_kind::long_work &&
         before.operations < longest_host_run;
}

// The waits of the step go with its first operation.
std::uint32_t compiler::add_operation(std::uint32_t number, plan_step& step, bool may_join) {
  const operation& what = plan_.operations[number];
  const bool takes_long = what.kind == operation_kind::long_work;
  std::uint32_t in = last_of_[step.lane];
  if (what.kind != operation_kind::wait_value && may_join && in != none && joins(what, step, plan_.steps[in])) {
    ++plan_.steps[in].operations;
    plan_.steps[in].takes_long = plan_.steps[in].takes_long || takes_long;
  } else {
    step.kind = what.kind == operation_kind::wait_value ? step_kind::alone
                : what.kind == operation_kind::host     ? step_kind::host_run
                                                        : step_kind::run;
    step.first_operation = number;
    step.operations = 1;
    step.takes_long = takes_long;
    in = add_step(step);
    step.waits = 0;
  }
  if (plan_.lanes != 1) step_of_.push_back(in);
  return in;
}

// Lanes were filled by turns. The operations of each step come to lie beside each other.
void compiler::put_together() {
  std::uint32_t next = 0;
  for (plan_step& step : plan_.steps) {
    step.first_operation = next;
    next += step.operations;
  }
  if (std::ranges::is_sorted(step_of_)) return;
  std::vector<std::uint32_t> filled(plan_.steps.size());
  std::vector<std::uint32_t> now_at(step_of_.size());
  std::vector<operation> moved(plan_.operations.size());
  for (std::uint32_t i = 0; i < step_of_.size(); ++i) {
    const std::uint32_t step = step_of_[i];
    now_at[i] = plan_.steps[step].first_operation + filled[step]++;
    moved[now_at[i]] = plan_.operations[i];
  }
  plan_.operations = std::move(moved);
  for (std::uint32_t node = 0; node < flat_.outside(); ++node) {
    place_in_plan& place = places_[node];
    if (place.operations != 0) place.first_operation = now_at[place.first_operation];
  }
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

}  // namespace

launch_plan::launch_plan(const launch_plan& other)
    : steps{other.steps},
      waits{other.waits},
      operations{other.operations},
      kernels{other.kernels},
      conditionals{other.conditionals},
      lanes{other.lanes},
      awaited_steps{other.awaited_steps},
      uses_words{other.uses_words},
      memory{other.memory} {
  pitched_copies.reserve(other.pitched_copies.size());
  for (const auto& copy : other.pitched_copies) pitched_copies.push_back(std::make_unique<pitched_copy_work>(*copy));
  for (engine::operation& operation : operations) refer_to_copies_of(*this, operation);
  kept_alive.share(other.kept_alive);
  for (const auto& [child, kept] : other.kept_by_children) kept_by_children[child].share(kept);
}

plan_reference compile(const graph& from, const std::vector<graph_node*>& order, std::vector<place_in_plan>& places) {
  auto* const plan = new launch_plan;
  plan_reference made{plan};
  const flat_graph flat{order};
  const lane_rules rules = lane_rules::of_schedule();
  compiler work{flat, rules, *plan, places};
  work.make_steps();
  work.make_bodies();
  from.share_kept_alive(plan->kept_alive);
  plan->memory = graph_memory::use_of(from);
  return made;
}

}  // namespace weir::embedded::model
