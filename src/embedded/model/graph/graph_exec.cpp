// model/graph_exec.cpp - submitting a plan, launch by launch.
#include "embedded/model/graph/graph_exec.hpp"

#include "embedded/engine/waiting.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/graph/graph.hpp"
#include "embedded/model/graph/node_access.hpp"
#include "embedded/model/graph/node_operations.hpp"
#include "embedded/model/stream/event.hpp"
#include "embedded/model/stream/stream.hpp"

#include <algorithm>

namespace weir::embedded::model {

using namespace abi;
using engine::make_operation;
using engine::operation;
using engine::operation_kind;
using engine::point;

namespace {

// From this many on a run takes longer than others should wait behind it without need.
constexpr std::uint32_t long_sequence_length = 64;

// Operations of a plan, one after the other, up to one that fails the device. The plan lives until
// release_plan.
struct operation_sequence {
  operation* first;
  std::uint32_t count;

  void run() const noexcept {
    for (operation *next = first, *end = first + count; next != end && next->body(*next);) ++next;
  }
};

// The same with host functions, of which none is called once the device has failed.
struct host_function_sequence {
  operation* first;
  std::uint32_t count;

  void run() const noexcept {
    for (operation *next = first, *end = first + count; next != end; ++next) {
      if (engine::device_failure() != CUDA_SUCCESS || !next->body(*next)) return;
    }
  }
};

// The last operation of a launch: the plan may go.
struct release_plan {
  launch_plan* plan;

  void run() const noexcept { plan_reference::adopt(plan); }
};

// The plan of a launch that found no memory halfway. What it has submitted points to the plan, and
// there is no room for the operation that would tell when that is done: the plan stays until the
// process ends.
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

}  // namespace

CUresult graph_exec::instantiate(const graph& from, unsigned long long flags,
                                 instantiate_error& reason) {
  const std::vector<graph_node*> order = from.topological_order();
  if (graph_node* const in_cycle = from.find_cycle(order)) {
    reason = {CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE, in_cycle};
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (has_unused_condition(from)) {
    reason = {CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED, nullptr};
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (graph_node* const unsupported = find_unsupported_node(from)) {
    reason = {CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED, unsupported};
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (this_process().has_several_devices() && find_inaccessible_memset(from) != nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<void> claim = from.is_noncopyable() ? from.claim_executable() : nullptr;
  if (from.is_noncopyable() && claim == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  std::vector<plan_location> locations;
  plan_reference plan = compile(from, order, locations);
  exec_topology shape{from, locations};
  std::vector<std::optional<submission>> open(plan->branches - 1);
  std::vector<engine::point> reached(plan->awaited_steps);
  std::vector<engine::timeline*> branches;
  branches.reserve(plan->branches - 1);
  try {
    while (branches.size() < plan->branches - 1) branches.push_back(&engine::timeline::acquire());
  } catch (...) {
    for (engine::timeline* branch : branches) branch->release_when_drained();
    throw;
  }

  const std::lock_guard lock{mutex_};
  plan_ = std::move(plan);
  shape_ = std::move(shape);
  disabled_.clear();
  flags_ = flags;
  claim_ = std::move(claim);
  last_launch_ = {};
  branch_timelines_ = std::move(branches);
  submissions_ = std::move(open);
  step_points_ = std::move(reached);
  return CUDA_SUCCESS;
}

void graph_exec::close() noexcept {
  const std::lock_guard lock{mutex_};
  plan_ = {};
  claim_ = {};
  shape_ = {};
  disabled_.clear();
  for (engine::timeline* branch : branch_timelines_) branch->release_when_drained();
  branch_timelines_.clear();
  submissions_.clear();
}

CUresult graph_exec::launch(stream& in) {
  const std::lock_guard lock{mutex_};
  if (plan_.get() == nullptr || (plan_->uses_words && !allows_value_memory(*plan_.get())))
    return CUDA_ERROR_INVALID_VALUE;
  if (plan_->memory.empty()) [[likely]] {
    has_work() ? submit(in, nullptr) : submit_nothing(in);
    return CUDA_SUCCESS;
  }
  graph_memory::launch memory{plan_->memory, in};
  const CUresult status =
      memory.begin((flags_ & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0);
  if (status != CUDA_SUCCESS) return status;
  submit(in, &memory);
  memory.end(last_launch_);
  return CUDA_SUCCESS;
}

void graph_exec::submit(stream& in, graph_memory::launch* memory) {
  // The lanes are published after the stream's own part, which they wait for; also when there is no
  // memory for all of it.
  const struct lanes_closing {
    std::vector<std::optional<submission>>& open;
    ~lanes_closing() {
      for (std::optional<submission>& branch : open) branch.reset();
    }
  } closing{submissions_};
  last_launch_ = in.submit_many([&](submission& main) {
    main.add_wait(last_launch_);
    if (memory != nullptr) memory->order(main);
    submit_plan(main);
  });
}

// Disabled nodes have one operation each.
bool graph_exec::has_work() const noexcept {
  if (plan_->operations.size() != disabled_.size() || !plan_->conditionals.empty()) return true;
  return std::ranges::any_of(plan_->steps, [](const plan_step& step) {
    return step.kind == step_kind::record_event || step.kind == step_kind::wait_event;
  });
}

// An H200 orders launches of one executable by their work: those that have none are ordered by
// their streams only. The plan lives until the stream has come to the launch, as user objects do.
void graph_exec::submit_nothing(stream& in) {
  plan_reference user{plan_.get()};
  static_cast<void>(in.submit_many([&](submission& main) {
    main.add(make_operation(release_plan{user.get()}, operation_kind::work, true));
  }));
  static_cast<void>(user.release());
}

void graph_exec::submit_plan(submission& main) {
  launch_plan& plan = *plan_.get();
  const release_plan last{plan_reference{&plan}.release()};  // one more user until then
  partial_launch_guard unfinished{plan};
  if (!plan.conditionals.empty()) main.add(make_operation(assign_conditions{&plan}));
  const point start = main.end();
  for (const plan_step& step : plan.steps) {
    if (step.branch != 0 && !submissions_[step.branch - 1]) {
      // Whatever the first step of a lane waits for comes after the start.
      submissions_[step.branch - 1].emplace(*branch_timelines_[step.branch - 1]).add_wait(start);
    }
    submission& to = step.branch == 0 ? main : *submissions_[step.branch - 1];
    for (std::uint32_t i = 0; i < step.waits; ++i)
      to.add_wait(step_points_[plan.waits[step.first_wait + i]]);
    submit_step(step, to);
    if (step.awaited_index != plan_step::no_index) step_points_[step.awaited_index] = to.end();
  }
  for (std::optional<submission>& branch : submissions_) main.add_wait(branch->end());
  main.add(make_operation(last, operation_kind::work, true));
  unfinished.dismiss();
}

void graph_exec::submit_step(const plan_step& step, submission& to) {
  operation* const first = plan_->operations.data() + step.first_operation;
  switch (step.kind) {
    case step_kind::run:
      if (step.operations == 1) {
        to.add(*first);
      } else {
        const bool is_long = step.is_long || step.operations >= long_sequence_length;
        to.add(make_operation(operation_sequence{first, step.operations},
                              is_long ? operation_kind::long_work : operation_kind::work));
      }
      return;
    case step_kind::host_run:
      if (step.operations == 1) {
        to.add(*first);
      } else {
        to.add(
            make_operation(host_function_sequence{first, step.operations}, operation_kind::host));
      }
      return;
    case step_kind::alone: to.add(*first); return;
    case step_kind::record_event:
      if (event* recorded = this_process().events.find(step.event)) recorded->record_in(to);
      return;
    case step_kind::wait_event:
      if (const event* awaited = this_process().events.find(step.event))
        to.add_wait(awaited->recorded_point());
      return;
    case step_kind::join: return;
  }
}

}  // namespace weir::embedded::model
