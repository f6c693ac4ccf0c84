// SPDX-License-Identifier: Apache-2.0
// model/graph/branch_assignment.hpp - assigns the nodes of a graph to concurrent branches.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "embedded/model/graph/flat_graph.hpp"

namespace weir::embedded::model {

// The inputs of the assignment besides the graph.
struct branch_options {
  unsigned workers = 1;  // threads that branches may keep busy
  // The engine also chooses the order of nodes, so all nodes that may run concurrently get
  // branches.
  bool node_by_node = false;
  std::optional<std::uint64_t> seed;  // randomises the order of nodes that share a branch

  // Returns the options of the engine's schedule for one more graph. Each graph gets its own seed.
  static branch_options from_schedule();
};

// The branches of a graph. A branch is a sequence of nodes; branches run concurrently. Branch 0 is
// the launching stream.
//
// Nodes that cannot block run in branch 0, one after the other, because that costs less than waking
// other threads. If their work is long enough, it is distributed over a branch per worker.
//
// A node that may block (host function, value wait, event wait) gets another branch, together with
// its dependents, unless all later nodes depend on it anyway. Host functions without a preceding
// one share a branch, because one thread runs them all.
struct branch_assignment {
  std::vector<std::uint32_t> branch_of;  // for each node outside of bodies
  // The nodes outside of bodies in the order in which branches are filled; a topological order.
  std::vector<std::uint32_t> sequence;
  std::uint32_t branches = 1;
};

// Throws std::bad_alloc.
[[nodiscard]] branch_assignment assign_branches(const flat_graph& flat,
                                                const branch_options& options);

// Returns the nodes outside of bodies in a topological order that the seed selects. Throws
// std::bad_alloc.
[[nodiscard]] std::vector<std::uint32_t> random_order(const flat_graph& flat, std::uint64_t seed);

}  // namespace weir::embedded::model
