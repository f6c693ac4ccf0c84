// stage/round_graph.hpp - the way of a whole round of chunks through the device, recorded once and
// replayed.
#pragma once

#include "stage/pipeline_streams.hpp"
#include "stage/plan.hpp"
#include "stage/slot.hpp"

#include <cstdint>
#include <span>
#include <vector>
#include <weir/graph/graph.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/nodes/copy_node.hpp>
#include <weir/graph/nodes/host_function_node.hpp>

namespace weir::tool {

// What the streams are given for plan.round_chunks() full chunks - three copies and a host function
// each, in the order that the streams give them - is captured once, for the first slots. As many
// executables are made of that as there are rounds of slots, since launches of one and the same
// come one after the other, and each is changed in place to carry its own slots. Thread safety: as
// any object.
class round_graph {
 public:
  // The lanes and the slots, plan.slots() of them, have to be there for as long as it is launched.
  // Throws weir::error for what the driver cannot do.
  round_graph(const pipeline_streams& streams, std::span<slot> slots, const plan& plan);

  // Queues the way of a round of chunks, from this one on, and records the `finished` of their
  // slots after it. Chunk number n is full and lies in slot n modulo the number of slots; the first
  // is the first of a round of slots.
  void launch(std::uint64_t first_chunk);

  [[nodiscard]] std::uint64_t launches() const noexcept { return launches_; }
  // How many nodes of executables were changed.
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }

 private:
  // What is done with one chunk.
  struct chunk_nodes {
    copy_node in;
    copy_node across;
    copy_node out;
    host_function_node check;
  };

  [[nodiscard]] graph record(std::span<slot> round, std::vector<chunk_nodes>& nodes);
  // To these slots, node by node.
  void retarget(graph_exec& exec, std::span<slot> round);

  const pipeline_streams& streams_;
  std::span<slot> slots_;
  std::vector<chunk_nodes> nodes_;       // of the graph, by the chunk's place in the round
  graph recorded_;                       // comes after nodes_, which its recording fills
  std::vector<graph_exec> executables_;  // by the round of slots
  std::uint64_t launches_ = 0;
  std::uint64_t changes_ = 0;
};

}  // namespace weir::tool
