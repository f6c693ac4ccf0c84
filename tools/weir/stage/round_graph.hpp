// SPDX-License-Identifier: Apache-2.0
// tools/weir/stage/round_graph.hpp - captures the work of a round of chunks once and replays it.
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

// Captures the work of plan.round_chunks() full chunks once, for the first slots: three copies and
// a host function each, ordered by the streams. Instantiates one executable graph for each group of
// plan.round_chunks() slots, because launches of one executable graph run one after the other. Each
// executable graph is changed in place to use its own slots. Thread safety: distinct objects are
// independent; const members may be called concurrently.
class round_graph {
 public:
  // The streams and the plan.slots() slots must outlive this object. Throws weir::error for what
  // the driver cannot do.
  round_graph(const pipeline_streams& streams, std::span<slot> slots, const plan& plan);

  // Enqueues a round of chunks, beginning with `first_chunk`, and records the `finished` event of
  // their slots after it. Each chunk must be full, and chunk n must lie in slot n modulo the number
  // of slots. The slot of `first_chunk` must be the first of a group of plan.round_chunks() slots.
  void launch(std::uint64_t first_chunk);

  [[nodiscard]] std::uint64_t launches() const noexcept { return launches_; }
  // The number of changed nodes of executable graphs.
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }

 private:
  // The nodes of one chunk.
  struct chunk_nodes {
    copy_node in;
    copy_node across;
    copy_node out;
    host_function_node check;
  };

  [[nodiscard]] graph record(std::span<slot> round, std::vector<chunk_nodes>& nodes);
  // Changes the nodes of an executable graph to these slots.
  void retarget(graph_exec& exec, std::span<slot> round);

  const pipeline_streams& streams_;
  std::span<slot> slots_;
  std::vector<chunk_nodes> nodes_;       // of the graph, by the chunk's position in the round
  graph recorded_;                       // declared after nodes_, which its capture fills
  std::vector<graph_exec> executables_;  // one for each group of slots
  std::uint64_t launches_ = 0;
  std::uint64_t changes_ = 0;
};

}  // namespace weir::tool
