// SPDX-License-Identifier: Apache-2.0
// model/graph/launch_plan.hpp - a graph compiled to the operations that a launch submits.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "driver/abi.hpp"
#include "embedded/engine/operation.hpp"
#include "embedded/model/core/user_object.hpp"
#include "embedded/model/graph/conditional.hpp"
#include "embedded/model/graph/graph_node.hpp"
#include "embedded/model/graph/memory/graph_memory.hpp"
#include "embedded/model/kernel/kernel_work.hpp"
#include "embedded/model/stream/operations.hpp"

namespace weir::embedded::model {

// The kinds of steps. A step is a part of a branch's work that the engine runs as a unit. A branch
// is a sequence of nodes that runs concurrently with other branches (branch_assignment.hpp).
enum class step_kind : std::uint8_t {
  run,       // consecutive operations, as one operation of the branch
  host_run,  // like run, on the host function thread: host functions and short work between them
  alone,     // a single operation that the engine treats specially: a value wait
  record_event,  // records the event at each launch
  wait_event,    // waits for the record that the event holds at the time of the launch
  join,          // has no operation, but may wait for steps of other branches
};

// A step: waits for steps of other branches, then runs operations of its own branch.
struct plan_step {
  step_kind kind = step_kind::join;
  bool is_long = false;  // contains operations of kind long_work
  std::uint32_t branch = 0;
  std::uint32_t first_operation = 0;
  std::uint32_t operations = 0;
  // The range of launch_plan::waits with the steps that this step waits for.
  std::uint32_t first_wait = 0;
  std::uint32_t waits = 0;
  // The index of this step among the steps that other branches wait for; no_index if no other
  // branch waits for it.
  std::uint32_t awaited_index = no_index;
  // The event of a record_event or wait_event step; else null.
  abi::CUevent event = nullptr;

  static constexpr std::uint32_t no_index = ~std::uint32_t{0};
};

// The place of a node's work in a plan: a range of launch_plan::operations, and a step.
struct plan_location {
  std::uint32_t first_operation = 0;
  std::uint32_t operations = 0;
  // The step of the node's last operation; for a node without operations, a step of another node.
  // The node is complete when this step is complete.
  std::uint32_t step = 0;
};

// The work that a launch submits: steps, each of which belongs to a branch (branch_assignment.hpp).
// A launch submits at most one operation for each step, besides the step's waits.
struct plan_contents {
  std::vector<plan_step> steps;      // each step comes after the steps that it waits for
  std::vector<std::uint32_t> waits;  // values of plan_step::awaited_index
  std::vector<engine::operation> operations;
  // The parameters of pitched copies, which are too large to store in an operation. The operation
  // of a pitched copy points to an element of this vector.
  std::vector<std::shared_ptr<const pitched_copy_work>> pitched_copies;
  // The kernels of kernel nodes. The operation of a kernel node points to the object of an element.
  std::vector<std::shared_ptr<const kernel_work>> kernels;
  std::vector<plan_conditional> conditionals;
  // The number of branches, and the number of steps that other branches wait for.
  std::uint32_t branches = 1;
  std::uint32_t awaited_steps = 0;
  bool uses_words = false;  // contains value waits or writes
  // The user objects of the graph, which the plan keeps alive.
  user_object_references retained_objects;
  // The user objects of child graphs that set_child() made part of the plan, with exec_node::child
  // as key.
  std::map<std::uint32_t, user_object_references> retained_by_children;
  // The memory that each launch allocates and frees.
  graph_memory_usage memory;
};

// A plan and the number of its users: the executable and its launches in flight. Immutable while
// launches use it: an update of the executable then changes a copy.
class launch_plan : public plan_contents {
 public:
  launch_plan() = default;
  // Copies the contents. Throws std::bad_alloc.
  launch_plan(const launch_plan& source);

  std::atomic<std::uint32_t> users{1};  // the number of references (plan_reference)
  // True if a launch that failed half way has leaked the plan (graph_exec.cpp). next_leaked is then
  // the next plan in the list of leaked plans.
  std::atomic<bool> is_leaked{false};
  launch_plan* next_leaked = nullptr;
};

// Ends one use of a plan. Deletes the plan after its last use.
struct plan_releaser {
  void operator()(launch_plan* plan) const noexcept {
    if (plan->users.fetch_sub(1, std::memory_order_acq_rel) == 1) delete plan;
  }
};
// A counted reference to a plan. After release(), the reference stays counted, and a plan_reference
// that is made from the pointer takes it over.
using plan_reference = std::unique_ptr<launch_plan, plan_releaser>;

// Returns a further reference to a plan.
[[nodiscard]] inline plan_reference add_user(launch_plan& plan) noexcept {
  plan.users.fetch_add(1, std::memory_order_relaxed);
  return plan_reference{&plan};
}

// Compiles a graph without cycles. `order` is its topological_order(). Sets graph_node::mark of
// each node, also in child graphs and bodies, to the index of the node's location in `locations`.
// Throws std::bad_alloc.
[[nodiscard]] plan_reference compile(const graph& source_graph,
                                     const std::vector<graph_node*>& order,
                                     std::vector<plan_location>& locations);

}  // namespace weir::embedded::model
