// SPDX-License-Identifier: Apache-2.0
// api/graph/driver_edges.hpp - node and edge functions of the driver, with or without edge data.
#pragma once

#include "driver/table.hpp"

#include <weir/graph/nodes/graph_node.hpp>

#include <cstddef>

namespace weir::detail {

[[nodiscard]] inline edge_data to_edge_data(const CUgraphEdgeData& data) noexcept {
  return {data.from_port, data.to_port, data.type};
}

// Each function except add_to_graph() calls the driver's function with edge data, or the older
// function without edge data if the driver is older than CUDA 12.3. Such a driver does not fill
// `data`, so a caller that reads edges passes zeros. A change with edge data other than 0 then
// fails with CALL_REQUIRES_NEWER_DRIVER. `data` may be null.

// Driver: cuGraphGetEdges.
[[nodiscard]] CUresult get_edges(CUgraph graph, CUgraphNode* sources, CUgraphNode* targets,
                                 CUgraphEdgeData* data, std::size_t* count) noexcept;
// Driver: cuGraphNodeGetDependencies.
[[nodiscard]] CUresult get_dependencies(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data,
                                        std::size_t* count) noexcept;
// Driver: cuGraphNodeGetDependentNodes.
[[nodiscard]] CUresult get_dependents(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data,
                                      std::size_t* count) noexcept;
// Driver: cuGraphAddDependencies.
[[nodiscard]] CUresult connect(CUgraph graph, const CUgraphNode* sources,
                               const CUgraphNode* targets, const CUgraphEdgeData* data,
                               std::size_t count) noexcept;
// Driver: cuGraphRemoveDependencies.
[[nodiscard]] CUresult disconnect(CUgraph graph, const CUgraphNode* sources,
                                  const CUgraphNode* targets, const CUgraphEdgeData* data,
                                  std::size_t count) noexcept;

// Driver: cuStreamUpdateCaptureDependencies.
[[nodiscard]] CUresult set_frontier(CUstream stream, CUgraphNode* nodes,
                                    const CUgraphEdgeData* data, std::size_t count,
                                    unsigned flags) noexcept;

// Adds a node with plain dependencies, without edge data. Fails with CALL_REQUIRES_NEWER_DRIVER
// before CUDA 12.2. Driver: cuGraphAddNode.
[[nodiscard]] CUresult add_to_graph(CUgraphNode& created, CUgraph graph,
                                    const CUgraphNode* dependencies, std::size_t count,
                                    CUgraphNodeParams& params) noexcept;

}  // namespace weir::detail
