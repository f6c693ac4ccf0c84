// SPDX-License-Identifier: Apache-2.0
// api/graph/driver_edges.hpp - node and edge functions of the driver, with or without edge data.
#pragma once

#include "driver/table.hpp"

#include <cstddef>

namespace weir::detail {

// Each function calls the driver's newest function of that name, or the older one if the driver
// lacks it. Functions from before CUDA 12.3 have no edge data: all data are 0 then, and others are
// answered with CALL_REQUIRES_NEWER_DRIVER. `data` may be null.

[[nodiscard]] CUresult get_edges(CUgraph graph, CUgraphNode* sources, CUgraphNode* targets,
                                 CUgraphEdgeData* data, std::size_t* count) noexcept;
[[nodiscard]] CUresult get_dependencies(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data,
                                        std::size_t* count) noexcept;
[[nodiscard]] CUresult get_dependents(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data,
                                      std::size_t* count) noexcept;
[[nodiscard]] CUresult connect(CUgraph graph, const CUgraphNode* sources,
                               const CUgraphNode* targets, const CUgraphEdgeData* data,
                               std::size_t count) noexcept;
[[nodiscard]] CUresult disconnect(CUgraph graph, const CUgraphNode* sources,
                                  const CUgraphNode* targets, const CUgraphEdgeData* data,
                                  std::size_t count) noexcept;

// Driver: cuStreamUpdateCaptureDependencies.
[[nodiscard]] CUresult set_frontier(CUstream stream, CUgraphNode* nodes,
                                    const CUgraphEdgeData* data, std::size_t count,
                                    unsigned flags) noexcept;

// Fails with CALL_REQUIRES_NEWER_DRIVER before CUDA 12.2.
// Driver: cuGraphAddNode.
[[nodiscard]] CUresult add_to_graph(CUgraphNode& created, CUgraph graph,
                                    const CUgraphNode* dependencies, std::size_t count,
                                    CUgraphNodeParams& params) noexcept;

}  // namespace weir::detail
