// SPDX-License-Identifier: Apache-2.0
// model/graph/graph_exec.cpp - submits a plan at each launch.
#include "embedded/model/graph/graph_exec.hpp"

#include "embedded/engine/waiting.hpp"
#include "embedded/model/core/context.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/graph/graph.hpp"
#include "embedded/model/graph/node_operations.hpp"
#include "embedded/model/graph/node_work.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/freed_memory.hpp"
#include "embedded/model/stream/event.hpp"
#include "embedded/model/stream/stream.hpp"

#include <algorithm>

namespace weir::embedded::model {

using namespace abi;
using engine::make_operation;
using engine::make_unconditional_operation;
using engine::operation;
using engine::operation_kind;
using engine::point;

namespace {

// From this number of operations on, a sequence counts as long work. Operations of other streams
// then need not wait for the sequence.
constexpr std::uint32_t long_sequence_length = 64;

// Runs consecutive operations of a plan. Stops at an operation that makes the device fail. The plan
// stays valid, because the operation release_plan of a launch runs last.
struct operation_sequence {
  operation* first;
  std::uint32_t count;

  void run() const noexcept {
    for (operation *next = first, *end = first + count; next != end && next->body(*next);) ++next;
  }
};

// Like operation_sequence, but some operations call host functions. Calls no host function after a
// device failure.
struct host_function_sequence {
  operation* first;
  std::uint32_t count;

  void run() const noexcept {
    for (operation *next = first, *end = first + count; next != end; ++next) {
      if (engine::device_failure() != CUDA_SUCCESS || !next->body(*next)) return;
    }
  }
};

// The last operation of a launch: releases the launch's reference to the plan.
struct release_plan {
  launch_plan* plan;

  void run() const noexcept { const plan_reference last_use{plan}; }
};

// The only operation of a launch whose graph uses memory that was freed: makes the device fail.
struct use_freed_memory {
  [[nodiscard]] bool run() const noexcept {
    freed_memory::fail_access(nullptr);
    return false;
  }
};

// Leaks the plan of a launch that ran out of memory half way. Operations that were already
// submitted refer to the plan, and there is no memory for an operation that would release the plan.
// A list keeps leaked plans reachable, so that leak checkers do not report them.
class partial_launch_guard {
 public:
  explicit partial_launch_guard(launch_plan& plan) noexcept : plan_{&plan} {}
  partial_launch_guard(const partial_launch_guard&) = delete;
  partial_launch_guard& operator=(const partial_launch_guard&) = delete;
  ~partial_launch_guard() {
    if (plan_ == nullptr || plan_->is_leaked.exchange(true, std::memory_order_relaxed)) return;
    plan_->next_leaked = leaked_plans.load(std::memory_order_relaxed);
    while (
        !leaked_plans.compare_exchange_weak(plan_->next_leaked, plan_, std::memory_order_relaxed)) {
    }
  }
  void dismiss() noexcept { plan_ = nullptr; }

 private:
  static inline constinit std::atomic<launch_plan*> leaked_plans{nullptr};

  launch_plan* plan_;
};

// Returns true if the graph or a subgraph has a captured memset of memory that the driver did not
// know.
bool has_unknown_memset(const graph& source_graph) noexcept {
  const auto is_unknown = [](const graph_node* node) {
    const auto* const memset = std::get_if<memset_params>(&node->params);
    return memset != nullptr && memset->unknown;
  };
  return std::ranges::any_of(source_graph.nodes(), is_unknown) ||
         source_graph.search_subgraphs(has_unknown_memset);
}

// As on an H200, a context reports CU_CTX_LMEM_RESIZE_TO_MAX (0x10) from the instantiation of a
// graph with one of its kernels on.
void report_kernels(const graph& source_graph) noexcept {
  for (const graph_node* node : source_graph.nodes()) {
    const auto* const kernel = std::get_if<kernel_params>(&node->params);
    if (kernel == nullptr) continue;
    if (context* const owner = this_process().contexts.find(kernel->context))
      owner->base().flags.fetch_or(0x10, std::memory_order_relaxed);
  }
  static_cast<void>(source_graph.search_subgraphs([](const graph& subgraph) {
    report_kernels(subgraph);
    return false;
  }));
}

// Returns an error and sets `reason` for a graph that cannot be instantiated. `order` is its
// topological_order().
CUresult check_instantiable(const graph& source_graph, const std::vector<graph_node*>& order,
                            graph_exec::instantiate_error& reason) {
  if (graph_node* const in_cycle = source_graph.find_cycle(order)) {
    reason = {CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE, in_cycle};
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (has_unused_condition(source_graph)) {
    reason = {CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED, nullptr};
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (graph_node* const unsupported = find_unsupported_node(source_graph)) {
    reason = {CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED, unsupported};
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (has_unknown_memset(source_graph)) return CUDA_ERROR_INVALID_VALUE;
  const bool is_inaccessible =
      this_process().has_several_devices() && has_inaccessible_memset(source_graph);
  if (is_inaccessible) reason = {CUDA_GRAPH_INSTANTIATE_ERROR, nullptr};
  return is_inaccessible ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

CUresult graph_exec::instantiate(const graph& source_graph, unsigned long long flags,
                                 instantiate_error& reason) {
  const std::vector<graph_node*> order = source_graph.topological_order();
  if (const CUresult error = check_instantiable(source_graph, order, reason)) return error;
  const std::uint64_t removals = address_map::removals();
  std::shared_ptr<void> claim =
      source_graph.is_noncopyable() ? source_graph.claim_executable() : nullptr;
  if (source_graph.is_noncopyable() && claim == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  std::vector<plan_location> locations;
  plan_reference plan = compile(source_graph, order, locations);
  exec_topology topology{source_graph, locations};
  std::vector<std::optional<submission>> submissions(plan->branches - 1);
  std::vector<point> step_points(plan->awaited_steps);
  std::vector<branch_timeline> timelines(plan->branches - 1);
  for (branch_timeline& branch : timelines) branch.reset(&engine::timeline::acquire());

  const std::lock_guard lock{mutex_};
  plan_ = std::move(plan);
  topology_ = std::move(topology);
  disabled_.clear();
  flags_ = flags;
  claim_ = std::move(claim);
  last_launch_ = {};
  checked_removals_ = removals;
  branch_timelines_ = std::move(timelines);
  submissions_ = std::move(submissions);
  step_points_ = std::move(step_points);
  for (const graph_memory_usage::leftover& left : plan_->memory.leftovers)
    left.block->instantiated = true;
  report_kernels(source_graph);
  return CUDA_SUCCESS;
}

void graph_exec::close() noexcept {
  const std::lock_guard lock{mutex_};
  plan_ = {};
  claim_ = {};
  topology_ = {};
  disabled_.clear();
  branch_timelines_.clear();
  submissions_.clear();
}

// Looks at the memory of the operations only if the program has freed memory since the last look.
bool graph_exec::has_freed_memory() noexcept {
  const std::uint64_t removals = address_map::removals();
  if (removals == checked_removals_) return false;
  if (!has_memory(*plan_)) return true;
  checked_removals_ = removals;
  return false;
}

CUresult graph_exec::launch(stream& target_stream) {
  const std::lock_guard lock{mutex_};
  if (plan_ == nullptr || (plan_->uses_words && !allows_value_memory(*plan_)))
    return CUDA_ERROR_INVALID_VALUE;
  if (has_freed_memory()) [[unlikely]] {
    target_stream.submit(make_operation(use_freed_memory{}));
    return CUDA_SUCCESS;
  }
  if (plan_->memory.empty()) [[likely]] {
    has_work() ? submit(target_stream, nullptr) : submit_nothing(target_stream);
    return CUDA_SUCCESS;
  }
  graph_memory::launch memory{plan_->memory, target_stream};
  const CUresult status =
      memory.begin((flags_ & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0
                       ? graph_memory::leftover_policy::free_on_launch
                       : graph_memory::leftover_policy::refuse);
  if (status != CUDA_SUCCESS) return status;
  submit(target_stream, &memory);
  memory.end(last_launch_);
  return CUDA_SUCCESS;
}

// Submits a launch that runs after the last launch of this executable. `memory`: the memory
// operations of the launch; null for a graph without memory nodes.
void graph_exec::submit(stream& target_stream, graph_memory::launch* memory) {
  // The destructor of this object submits the branches that have a timeline of their own: it ends
  // their submissions, which makes their work visible. Branch 0 is submitted first, at the end of
  // submit_many(), because the other branches wait for the start of the launch in the stream. A
  // destructor does this, so that it also happens if memory runs out and submit_many() throws.
  const struct branch_publisher {
    std::vector<std::optional<submission>>& submissions;
    ~branch_publisher() {
      for (std::optional<submission>& branch : submissions) branch.reset();
    }
  } publisher{submissions_};
  last_launch_ = target_stream.submit_many([&](submission& main) {
    main.add_wait(last_launch_);
    if (memory != nullptr) memory->add_waits(main);
    submit_plan(main);
  });
}

// Returns true if a launch has something to do. A disabled node has exactly one operation, so
// nothing is left if the plan has as many operations as disabled nodes.
bool graph_exec::has_work() const noexcept {
  if (plan_->operations.size() != disabled_.size()) return true;
  return std::ranges::any_of(plan_->steps, [](const plan_step& step) {
    return step.kind == step_kind::record_event || step.kind == step_kind::wait_event;
  });
}

// Submits a launch without work. As on an H200, such a launch does not wait for earlier launches of
// the executable, only for earlier work of its stream. It still holds a reference to the plan, so
// the plan and its user objects exist until the stream reaches the launch.
void graph_exec::submit_nothing(stream& target_stream) {
  plan_reference user = add_user(*plan_);
  static_cast<void>(target_stream.submit_many(
      [&](submission& main) { main.add(make_unconditional_operation(release_plan{user.get()})); }));
  static_cast<void>(user.release());
}

// Adds the steps of branch 0 to the submission to the stream, `main`, and the steps of each other
// branch to a submission to that branch's timeline. The end of the launch in the stream waits for
// all branches.
void graph_exec::submit_plan(submission& main) {
  launch_plan& plan = *plan_;
  // The reference that is counted here is released when the operation `last` runs.
  const release_plan last{add_user(plan).release()};
  partial_launch_guard unfinished{plan};
  if (!plan.conditionals.empty()) main.add(make_operation(assign_conditions{&plan}));
  const point start = main.end();
  for (const plan_step& step : plan.steps) {
    if (step.branch != 0 && !submissions_[step.branch - 1]) {
      // The first step of each branch first waits for the start of the launch, then for the steps
      // that it depends on.
      submissions_[step.branch - 1].emplace(*branch_timelines_[step.branch - 1]).add_wait(start);
    }
    submission& pending = step.branch == 0 ? main : *submissions_[step.branch - 1];
    for (std::uint32_t i = 0; i < step.waits; ++i)
      pending.add_wait(step_points_[plan.waits[step.first_wait + i]]);
    submit_step(step, pending);
    if (step.awaited_index != plan_step::no_index) step_points_[step.awaited_index] = pending.end();
  }
  for (std::optional<submission>& branch : submissions_) main.add_wait(branch->end());
  main.add(make_unconditional_operation(last));
  unfinished.dismiss();
}

// Adds the work of one step. Skips the record of an event that the program has destroyed, and the
// wait for it.
void graph_exec::submit_step(const plan_step& step, submission& pending) {
  operation* const first = plan_->operations.data() + step.first_operation;
  if (step.operations == 1) {
    pending.add(*first);
    return;
  }
  switch (step.kind) {
    case step_kind::run: {
      const bool is_long = step.is_long || step.operations >= long_sequence_length;
      pending.add(make_operation(operation_sequence{first, step.operations},
                                 is_long ? operation_kind::long_work : operation_kind::work));
      return;
    }
    case step_kind::host_run:
      pending.add(
          make_operation(host_function_sequence{first, step.operations}, operation_kind::host));
      return;
    case step_kind::alone: return;  // such a step has one operation, which was added above
    case step_kind::record_event:
      if (event* recorded = this_process().events.find(step.event)) recorded->record_in(pending);
      return;
    case step_kind::wait_event:
      if (const event* awaited = this_process().events.find(step.event))
        pending.add_wait(awaited->recorded_point());
      return;
    case step_kind::join: return;
  }
}

}  // namespace weir::embedded::model
