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

// The kinds of steps. A step is work of a branch that the engine runs as a unit.
enum class step_kind : std::uint8_t {
  run,       // consecutive operations, as one operation of the branch
  host_run,  // like run, on the host function thread: host functions and short work between them
  alone,     // an operation that the engine must see: a value wait
  record_event,  // records the event at each launch
  wait_event,    // waits for the event's point at the time of the launch
  join,          // only waits
};

// A part of a branch's work, which first waits for steps of other branches.
struct plan_step {
  step_kind kind = step_kind::join;
  bool is_long = false;  // contains operations of kind long_work
  std::uint32_t branch = 0;
  std::uint32_t first_operation = 0;
  std::uint32_t operations = 0;
  std::uint32_t first_wait = 0;
  std::uint32_t waits = 0;
  std::uint32_t awaited_index = no_index;  // its number among the awaited steps
  abi::CUevent event = nullptr;

  static constexpr std::uint32_t no_index = ~std::uint32_t{0};
};

// The work of a node in a plan: its consecutive operations, and its step.
struct plan_location {
  std::uint32_t first_operation = 0;
  std::uint32_t operations = 0;
  std::uint32_t step = 0;  // the step of the last operation
};

// The work that a launch submits: branches (branch_assignment.hpp) of steps. Each step costs the
// engine at most one operation.
//
// Shared by the executable and its launches in flight. Immutable while shared: an update makes
// another plan.
class launch_plan {
 public:
  launch_plan() = default;
  launch_plan(const launch_plan& source);

  std::vector<plan_step> steps;      // each comes after those that it waits for
  std::vector<std::uint32_t> waits;  // numbers of awaited steps
  std::vector<engine::operation> operations;
  // Pitched copies are too large to store in an operation, which points to an element of this
  // vector.
  std::vector<std::unique_ptr<pitched_copy_work>> pitched_copies;
  // Operations also point to elements of this vector.
  std::vector<std::shared_ptr<const kernel_work>> kernels;
  std::vector<plan_conditional> conditionals;
  std::uint32_t branches = 1;
  std::uint32_t awaited_steps = 0;
  bool uses_words = false;  // contains value waits or writes
  user_object_references retained_objects;
  // The user objects of child graphs that were replaced by set_child().
  std::map<std::uint32_t, user_object_references> retained_by_children;
  graph_memory_usage memory;

  std::atomic<std::uint32_t> users{0};  // counted by plan_reference
  // True if a failed launch leaked it (graph_exec.cpp); next_leaked then links it.
  std::atomic<bool> is_leaked{false};
  launch_plan* next_leaked = nullptr;
};

// A counted reference to a plan.
class plan_reference {
 public:
  plan_reference() = default;
  explicit plan_reference(launch_plan* plan) noexcept : plan_{plan} {
    if (plan_ != nullptr) plan_->users.fetch_add(1, std::memory_order_relaxed);
  }
  plan_reference(plan_reference&& source) noexcept : plan_{std::exchange(source.plan_, nullptr)} {}
  plan_reference& operator=(plan_reference&& source) noexcept {
    std::swap(plan_, source.plan_);
    return *this;
  }
  ~plan_reference() {
    if (plan_ != nullptr && plan_->users.fetch_sub(1, std::memory_order_acq_rel) == 1) delete plan_;
  }

  [[nodiscard]] launch_plan* get() const noexcept { return plan_; }
  [[nodiscard]] launch_plan* operator->() const noexcept { return plan_; }
  [[nodiscard]] launch_plan* release() noexcept { return std::exchange(plan_, nullptr); }
  static plan_reference adopt(launch_plan* plan) noexcept {
    plan_reference adopted;
    adopted.plan_ = plan;
    return adopted;
  }

 private:
  launch_plan* plan_ = nullptr;
};

// Compiles a graph without cycles, whose nodes are given in topological order. Stores a location
// for each node, with the node's mark as index, also in child graphs. Throws std::bad_alloc.
[[nodiscard]] plan_reference compile(const graph& source_graph,
                                     const std::vector<graph_node*>& order,
                                     std::vector<plan_location>& locations);

}  // namespace weir::embedded::model
