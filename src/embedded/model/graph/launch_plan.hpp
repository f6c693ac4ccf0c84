// model/launch_plan.hpp - a graph compiled to what a launch submits.
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
#include "embedded/model/stream/work.hpp"

namespace weir::embedded::model {

// Work that the engine does on a lane in one go.
enum class step_kind : std::uint8_t {
  run,       // operations that run one after the other, as one operation of the lane
  host_run,  // the same on the thread of the host functions: host functions, and short work between
             // them
  alone,     // an operation that the engine has to see: a wait for a value
  record_event,  // the event is recorded there at each launch
  wait_event,    // the lane waits for the point that the event has at the launch
  join,          // nothing but its waits
};

// A part of a lane's work, which waits for steps of other lanes first.
struct plan_step {
  step_kind kind = step_kind::join;
  bool is_long = false;  // has operations of kind long_work
  std::uint32_t branch = 0;
  std::uint32_t first_operation = 0;
  std::uint32_t operations = 0;
  std::uint32_t first_wait = 0;
  std::uint32_t waits = 0;
  std::uint32_t awaited_index = no_index;  // its number among the steps that others wait for
  abi::CUevent event = nullptr;

  static constexpr std::uint32_t no_index = ~std::uint32_t{0};
};

// Where a node's work is in a plan: its operations, which are one after the other, and its step.
struct plan_location {
  std::uint32_t first_operation = 0;
  std::uint32_t operations = 0;
  std::uint32_t step = 0;  // of the last of them
};

// What a launch submits: lanes (branch_assignment.hpp) of steps, each of which costs the engine no
// more than one operation.
//
// Shared by the executable and its launches in flight, and not changed while it is: an update makes
// another.
class launch_plan {
 public:
  launch_plan() = default;
  launch_plan(const launch_plan& other);

  std::vector<plan_step> steps;      // each comes after those that it waits for
  std::vector<std::uint32_t> waits;  // numbers of awaited steps
  std::vector<engine::operation> operations;
  std::vector<std::unique_ptr<pitched_copy_work>>
      pitched_copies;  // too large for an operation, which points to its own
  std::vector<std::shared_ptr<const kernel_work>> kernels;  // likewise
  std::vector<plan_conditional> conditionals;
  std::uint32_t branches = 1;
  std::uint32_t awaited_steps = 0;
  bool uses_words = false;  // waits for values, or writes some
  user_object_references retained_objects;
  std::map<std::uint32_t, user_object_references> retained_by_children;  // that were set
  graph_memory_usage memory;

  std::atomic<std::uint32_t> users{0};  // plan_reference
  std::atomic<bool> is_leaked{false};   // for good, behind the one before
  launch_plan* next_leaked = nullptr;
};

// A counted reference to a plan.
class plan_reference {
 public:
  plan_reference() = default;
  explicit plan_reference(launch_plan* plan) noexcept : plan_{plan} {
    if (plan_ != nullptr) plan_->users.fetch_add(1, std::memory_order_relaxed);
  }
  plan_reference(plan_reference&& other) noexcept : plan_{std::exchange(other.plan_, nullptr)} {}
  plan_reference& operator=(plan_reference&& other) noexcept {
    std::swap(plan_, other.plan_);
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

// Compiles a graph without cycles, whose nodes are given in order. Each node's mark tells which
// place is its own, in child graphs, too. Throws std::bad_alloc.
[[nodiscard]] plan_reference compile(const graph& from, const std::vector<graph_node*>& order,
                                     std::vector<plan_location>& locations);

}  // namespace weir::embedded::model
