// SPDX-License-Identifier: Apache-2.0
// model/graph/branch_assignment.cpp - assigns each node of a graph to a branch, a sequence of nodes
// that runs concurrently with the other branches.
#include "embedded/model/graph/branch_assignment.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <utility>

#include "embedded/engine/scheduler.hpp"

namespace weir::embedded::model {

std::vector<std::uint32_t> random_order(const flat_graph& flat, std::uint64_t seed) {
  const std::uint32_t count = flat.outer_node_count();
  std::vector<std::vector<std::uint32_t>> dependents(count);
  std::vector<std::uint32_t> missing_dependencies(count);
  std::vector<std::uint32_t> ready;
  for (std::uint32_t i = 0; i < count; ++i) {
    for (const std::uint32_t dependency : flat.dependencies_of(i))
      dependents[dependency].push_back(i);
    missing_dependencies[i] = static_cast<std::uint32_t>(flat.dependencies_of(i).size());
    if (missing_dependencies[i] == 0) ready.push_back(i);
  }

  std::mt19937_64 random{seed};
  std::vector<std::uint32_t> order;
  order.reserve(count);
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    const std::uint32_t chosen = ready.back();
    ready.pop_back();
    order.push_back(chosen);
    for (const std::uint32_t dependent : dependents[chosen]) {
      if (--missing_dependencies[dependent] == 0) ready.push_back(dependent);
    }
  }
  return order;
}

namespace {

constexpr std::uint32_t none = flat_graph::none;

// If the graph has this many branches, further nodes share existing branches. New branches are then
// made only for nodes that wait for a value or an event, or if all branches except branch 0 contain
// such nodes.
constexpr std::uint32_t max_branches = 32;

// The estimated time in nanoseconds from notifying another thread until that thread starts the
// work.
constexpr std::uint64_t handoff_ns = 20'000;

// The state of a branch during the assignment.
struct branch_state {
  std::uint32_t last = none;  // node
  // contains a node that waits for a value or an event, or depends on such a node
  bool waits = false;
  bool only_host = false;  // contains only host functions
};

class branch_assigner {
 public:
  branch_assigner(const flat_graph& flat, const branch_options& options,
                  branch_assignment& assignment)
      : flat_{flat}, options_{options}, assignment_{assignment} {}

  void run();

 private:
  void assign_unblocked_nodes();
  void distribute_unblocked_nodes();
  [[nodiscard]] std::uint32_t branch_for_unblocked(std::uint32_t node);
  [[nodiscard]] std::uint32_t branch_for_blockable(std::uint32_t node);
  [[nodiscard]] std::uint32_t branch_that_ends_at(std::uint32_t node) const;
  std::uint32_t new_branch();
  void append(std::uint32_t node, std::uint32_t branch);

  const flat_graph& flat_;
  const branch_options& options_;
  branch_assignment& assignment_;
  std::vector<std::uint32_t> order_;  // all nodes outside of bodies, in a topological order
  std::vector<branch_state> branches_{1};
  // the branch that was last chosen to be shared by a further node
  std::uint32_t shared_branch_ = 0;
  // The branch that host functions share if no branch ends with a node that they depend on.
  std::uint32_t host_branch_ = none;
};

// Assigns all nodes, first those that cannot block.
void branch_assigner::run() {
  assignment_.branch_of.assign(flat_.outer_node_count(), 0);
  assignment_.sequence.reserve(flat_.outer_node_count());
  if (options_.seed) {
    order_ = random_order(flat_, *options_.seed);
  } else {
    order_.resize(flat_.outer_node_count());
    std::iota(order_.begin(), order_.end(), 0);
  }
  std::uint64_t work = 0;
  for (const std::uint32_t node : order_)
    work += flat_.nodes()[node].may_block ? 0 : flat_.nodes()[node].cost;
  if (options_.workers > 1 && !options_.node_by_node && work > 2 * handoff_ns) {
    distribute_unblocked_nodes();
  } else {
    assign_unblocked_nodes();
  }
  for (const std::uint32_t node : order_) {
    if (flat_.nodes()[node].may_block) append(node, branch_for_blockable(node));
  }
  assignment_.branches = static_cast<std::uint32_t>(branches_.size());
}

// Appends the node to a branch.
void branch_assigner::append(std::uint32_t node, std::uint32_t branch) {
  const flat_node& node_info = flat_.nodes()[node];
  branch_state& extended = branches_[branch];
  extended.only_host =
      node_info.host && !node_info.waits && (extended.only_host || extended.last == none);
  extended.last = node;
  extended.waits = extended.waits || node_info.waits;
  assignment_.branch_of[node] = branch;
  assignment_.sequence.push_back(node);
}

std::uint32_t branch_assigner::new_branch() {
  branches_.emplace_back();
  return static_cast<std::uint32_t>(branches_.size() - 1);
}

// Returns a branch whose last node is a dependency of this node, or `none`.
std::uint32_t branch_assigner::branch_that_ends_at(std::uint32_t node) const {
  for (const std::uint32_t dependency : flat_.dependencies_of(node)) {
    if (branches_[assignment_.branch_of[dependency]].last == dependency)
      return assignment_.branch_of[dependency];
  }
  return none;
}

// Assigns all nodes that cannot block. They precede the nodes that may block in each branch.
void branch_assigner::assign_unblocked_nodes() {
  for (const std::uint32_t node : order_) {
    if (!flat_.nodes()[node].may_block)
      append(node, options_.node_by_node ? branch_for_unblocked(node) : 0);
  }
}

// Returns the branch of a node that cannot block. Used only if the engine chooses the order of
// nodes.
std::uint32_t branch_assigner::branch_for_unblocked(std::uint32_t node) {
  if (branches_[0].last == none) return 0;
  if (const std::uint32_t branch = branch_that_ends_at(node); branch != none) return branch;
  if (branches_.size() < max_branches) return new_branch();
  return shared_branch_ = (shared_branch_ + 1) % max_branches;
}

// Assigns each node that cannot block to the branch in which it can start first. The result of a
// dependency in another branch is available handoff_ns after the dependency ends.
void branch_assigner::distribute_unblocked_nodes() {
  std::vector<std::uint64_t> branch_free(options_.workers, handoff_ns);
  branch_free[0] = 0;
  std::vector<std::uint64_t> ends(flat_.outer_node_count());
  for (std::uint32_t node = 0; node < flat_.outer_node_count(); ++node) {
    if (flat_.nodes()[node].may_block) continue;
    // The end of the dependency that ends last, and of the last dependency outside of that
    // dependency's branch; 0 if there is none.
    std::uint64_t last_end = 0;
    std::uint64_t other_branch_end = 0;
    std::uint32_t last_branch = 0;
    for (const std::uint32_t dependency : flat_.dependencies_of(node)) {
      const std::uint32_t branch = assignment_.branch_of[dependency];
      if (ends[dependency] > last_end) {
        if (branch != last_branch) other_branch_end = last_end;
        last_end = ends[dependency];
        last_branch = branch;
      } else if (branch != last_branch) {
        other_branch_end = std::max(other_branch_end, ends[dependency]);
      }
    }
    std::uint32_t best_branch = last_branch;
    std::uint64_t best_start = std::numeric_limits<std::uint64_t>::max();
    for (std::uint32_t i = 0; i < options_.workers; ++i) {
      const std::uint32_t branch = (last_branch + i) % options_.workers;
      const std::uint64_t other_end = branch == last_branch ? other_branch_end : last_end;
      const std::uint64_t start =
          std::max(branch_free[branch], other_end == 0 ? 0 : other_end + handoff_ns);
      if (start < best_start) {
        best_start = start;
        best_branch = branch;
      }
    }
    if (best_branch >= branches_.size())
      best_branch = new_branch();  // all empty branches are equivalent, so the next one is used
    branch_free[best_branch] = ends[node] = best_start + flat_.nodes()[node].cost;
    append(node, best_branch);
  }
}

// Returns the branch of a node that may block: a branch that ends with a dependency of the node if
// there is one, else a shared or new branch.
std::uint32_t branch_assigner::branch_for_blockable(std::uint32_t node) {
  const flat_node& node_info = flat_.nodes()[node];
  if (branches_[0].last == none) return 0;
  if (const std::uint32_t branch = branch_that_ends_at(node); branch != none) return branch;
  if (node_info.host && !node_info.waits && !options_.node_by_node) {
    if (host_branch_ == none || !branches_[host_branch_].only_host) {
      host_branch_ = branches_[0].only_host ? 0 : none;
    }
    if (host_branch_ != none) return host_branch_;
    if (branches_.size() < max_branches) return host_branch_ = new_branch();
  }
  if (!node_info.waits && branches_.size() >= max_branches) {
    for (std::uint32_t tries = 1; tries < max_branches; ++tries) {
      shared_branch_ = shared_branch_ % (max_branches - 1) + 1;
      if (!branches_[shared_branch_].waits) return shared_branch_;
    }
  }
  return new_branch();
}

}  // namespace

branch_options branch_options::from_schedule() {
  static std::atomic<std::uint64_t> graphs_so_far{0};
  const engine::scheduler& scheduler = engine::scheduler::instance();
  const engine::schedule current_schedule = scheduler.current_schedule();
  branch_options options;
  options.workers = scheduler.max_workers();
  options.node_by_node = current_schedule.kind != engine::schedule_kind::parallel;
  if (scheduler.deterministic() != nullptr)
    options.seed = current_schedule.seed + graphs_so_far.fetch_add(1, std::memory_order_relaxed);
  return options;
}

branch_assignment assign_branches(const flat_graph& flat, const branch_options& options) {
  branch_assignment created;
  branch_assigner{flat, options, created}.run();
  return created;
}

}  // namespace weir::embedded::model
