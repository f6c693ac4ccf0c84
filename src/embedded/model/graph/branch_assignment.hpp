// SPDX-License-Identifier: Apache-2.0
// model/graph/branch_assignment.hpp - assigns each node of a graph to a branch: a sequence of nodes
// that runs concurrently with the other branches.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "embedded/model/graph/flat_graph.hpp"

namespace weir::embedded::model {

// The inputs of the assignment besides the graph.
struct branch_options {
  unsigned workers = 1;  // threads that branches may keep busy
  // True if the engine's schedule chooses the order of single nodes. Nodes that may run
  // concurrently then get different branches, so that the engine can choose between them.
  bool node_by_node = false;
  std::optional<std::uint64_t> seed;  // if set, randomises the order of nodes that share a branch

  // Returns the options of the engine's schedule for one more graph. Each graph gets its own seed.
  static branch_options from_schedule();
};

// The branches of a graph. A branch is a sequence of nodes; branches run concurrently. Branch 0
// runs in the launching stream.
//
// Nodes that cannot block run in branch 0, one after the other, because that costs less than waking
// other threads. If their estimated work is long enough, they are distributed over one branch per
// worker.
//
// A node that may block (host function, value wait, event wait) gets another branch, together with
// its dependents. It stays in branch 0 if that branch is empty or ends with a node that it depends
// on. Host functions that do not depend on the last node of any branch share one branch, because
// one thread runs all host functions.
struct branch_assignment {
  // The branch of each node outside of the bodies of conditional nodes, by flat_graph's indices.
  std::vector<std::uint32_t> branch_of;
  // The indices of the nodes outside of bodies, in the order in which they were appended to their
  // branches. This is a topological order.
  std::vector<std::uint32_t> sequence;
  // The number of branches.
  std::uint32_t branches = 1;
};

// Assigns all nodes outside of bodies to branches. Throws std::bad_alloc.
[[nodiscard]] branch_assignment assign_branches(const flat_graph& flat,
                                                const branch_options& options);

// Returns the nodes outside of bodies in a topological order that the seed selects. Throws
// std::bad_alloc.
[[nodiscard]] std::vector<std::uint32_t> random_order(const flat_graph& flat, std::uint64_t seed);

}  // namespace weir::embedded::model
