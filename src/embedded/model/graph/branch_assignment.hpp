// model/branch_assignment.hpp - which nodes of a graph run one after the other, and which beside
// each other.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "embedded/model/graph/flat_graph.hpp"

namespace weir::embedded::model {

// What the choice depends on beside the graph.
struct branch_options {
  unsigned workers = 1;  // threads that lanes may keep busy
  bool node_by_node =
      false;  // the engine chooses the order of nodes, too: all that it may choose has a lane
  std::optional<std::uint64_t> seed;  // draws the order of those that share a lane

  // As the engine's schedule has it, for one graph more: each has a seed of its own.
  static branch_options from_schedule();
};

// Lanes are lines of work that go on beside each other; lane 0 is the stream's own.
//
// What nothing can hold up runs there in one go, one node after the other: that costs less than
// telling other threads of it. Where it is so much that it pays nevertheless, it is spread over a
// lane for each worker. A node that may be held up (by a host function, a value, an event) and what
// depends on it has another lane, unless all that follows depends on it anyhow, so that it holds
// nothing else. Host functions that follow no other have one lane: they have one thread between
// them.
struct branch_assignment {
  std::vector<std::uint32_t> branch_of;  // of each node that is in no body
  std::vector<std::uint32_t>
      sequence;  // those nodes in the order in which lanes are filled: an order of the graph
  std::uint32_t branches = 1;
};

// Throws std::bad_alloc.
[[nodiscard]] branch_assignment assign_branches(const flat_graph& of, const branch_options& by);

}  // namespace weir::embedded::model
