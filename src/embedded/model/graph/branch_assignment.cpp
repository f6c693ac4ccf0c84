// model/branch_assignment.cpp - lanes for what can be held up, and for more work than one thread
// should do.
#include "embedded/model/graph/branch_assignment.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "embedded/engine/scheduler.hpp"
#include "embedded/model/graph/random_order.hpp"

namespace weir::embedded::model {

namespace {

constexpr std::uint32_t none = flat_graph::none;

// From this many lanes on, nodes that wait for nothing outside share lanes.
constexpr std::uint32_t max_branches = 32;

// Nanoseconds after which another thread has begun what it was told of.
constexpr std::uint64_t handoff_ns = 20'000;

// What the choice remembers of a lane.
struct branch_state {
  std::uint32_t last = none;  // node
  bool waits = false;         // has one that waits for something outside
  bool only_host = false;     // has host functions only
};

class branch_assigner {
 public:
  branch_assigner(const flat_graph& of, const branch_options& by, branch_assignment& into)
      : flat_{of}, options_{by}, assignment_{into} {}

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
  std::vector<std::uint32_t> order_;
  std::vector<branch_state> branches_{1};
  std::uint32_t shared_branch_ = 0;  // the last that was given to a node that needs none of its own
  std::uint32_t host_branch_ = none;  // where the next host function goes that follows none
};

void branch_assigner::run() {
  assignment_.branch_of.assign(flat_.outer_node_count(), 0);
  assignment_.sequence.reserve(flat_.outer_node_count());
  if (options_.seed) order_ = random_order(flat_, *options_.seed);
  std::uint64_t work = 0;
  for (std::uint32_t i = 0; i < flat_.outer_node_count(); ++i)
    work += flat_.nodes()[i].may_block ? 0 : flat_.nodes()[i].cost;
  if (options_.workers > 1 && !options_.node_by_node && work > 2 * handoff_ns) {
    distribute_unblocked_nodes();
  } else {
    assign_unblocked_nodes();
  }
  for (std::uint32_t i = 0; i < flat_.outer_node_count(); ++i) {
    const std::uint32_t node = order_.empty() ? i : order_[i];
    if (flat_.nodes()[node].may_block) append(node, branch_for_blockable(node));
  }
  assignment_.branches = static_cast<std::uint32_t>(branches_.size());
}

void branch_assigner::append(std::uint32_t node, std::uint32_t branch) {
  const flat_node& node_info = flat_.nodes()[node];
  branch_state& to = branches_[branch];
  to.only_host = node_info.host && !node_info.waits && (to.only_host || to.last == none);
  to.last = node;
  to.waits = to.waits || node_info.waits;
  assignment_.branch_of[node] = branch;
  assignment_.sequence.push_back(node);
}

std::uint32_t branch_assigner::new_branch() {
  branches_.emplace_back();
  return static_cast<std::uint32_t>(branches_.size() - 1);
}

std::uint32_t branch_assigner::branch_that_ends_at(std::uint32_t node) const {
  for (const std::uint32_t before : flat_.dependencies_of(node)) {
    if (branches_[assignment_.branch_of[before]].last == before)
      return assignment_.branch_of[before];
  }
  return none;
}

// All nodes that nothing can hold up come first.
void branch_assigner::assign_unblocked_nodes() {
  for (std::uint32_t i = 0; i < flat_.outer_node_count(); ++i) {
    const std::uint32_t node = order_.empty() ? i : order_[i];
    if (!flat_.nodes()[node].may_block)
      append(node, options_.node_by_node ? branch_for_unblocked(node) : 0);
  }
}

std::uint32_t branch_assigner::branch_for_unblocked(std::uint32_t node) {
  if (branches_[0].last == none) return 0;
  if (const std::uint32_t branch = branch_that_ends_at(node); branch != none) return branch;
  if (branches_.size() < max_branches) return new_branch();
  return shared_branch_ = (shared_branch_ + 1) % max_branches;
}

// Each node in turn goes where it can begin first, if what it depends on in another lane is known
// here a crossing later.
void branch_assigner::distribute_unblocked_nodes() {
  std::vector<std::uint64_t> free_at(options_.workers, handoff_ns);
  free_at[0] = 0;
  std::vector<std::uint64_t> ends(flat_.outer_node_count());
  for (std::uint32_t node = 0; node < flat_.outer_node_count(); ++node) {
    if (flat_.nodes()[node].may_block) continue;
    // The last of what it depends on, and the last of that in other lanes than the last.
    std::uint64_t last = 0;
    std::uint64_t last_on_other_branch = 0;
    std::uint32_t branch_of_last = 0;
    for (const std::uint32_t before : flat_.dependencies_of(node)) {
      const std::uint32_t branch = assignment_.branch_of[before];
      if (ends[before] > last) {
        if (branch != branch_of_last) last_on_other_branch = last;
        last = ends[before];
        branch_of_last = branch;
      } else if (branch != branch_of_last) {
        last_on_other_branch = std::max(last_on_other_branch, ends[before]);
      }
    }
    std::uint32_t best = branch_of_last;
    std::uint64_t begin = std::numeric_limits<std::uint64_t>::max();
    for (std::uint32_t i = 0; i < options_.workers; ++i) {
      const std::uint32_t branch = (branch_of_last + i) % options_.workers;
      const std::uint64_t foreign = branch == branch_of_last ? last_on_other_branch : last;
      const std::uint64_t can = std::max(free_at[branch], foreign == 0 ? 0 : foreign + handoff_ns);
      if (can < begin) {
        begin = can;
        best = branch;
      }
    }
    if (best >= branches_.size()) best = new_branch();  // those without a node are all alike
    free_at[best] = ends[node] = begin + flat_.nodes()[node].cost;
    append(node, best);
  }
}

// It goes on where one that it depends on has ended, or in another lane.
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
  const engine::schedule how = scheduler.current_schedule();
  branch_options options;
  options.workers = scheduler.max_workers();
  options.node_by_node = how.kind != engine::schedule_kind::parallel;
  if (scheduler.is_deterministic())
    options.seed = how.seed + graphs_so_far.fetch_add(1, std::memory_order_relaxed);
  return options;
}

branch_assignment assign_branches(const flat_graph& of, const branch_options& by) {
  branch_assignment made;
  branch_assigner{of, by, made}.run();
  return made;
}

}  // namespace weir::embedded::model
