// api/graph/driver_edges.hpp - nodes and edges of graphs by the functions that the driver has:
// those of before CUDA 12.3 know no data.
#pragma once

#include "driver/table.hpp"

#include <cstddef>

namespace weir::detail {

// Each is the driver's newest function of that name, or the older one if only that is there: the
// data are 0 then, and others than 0 are answered with CALL_REQUIRES_NEWER_DRIVER. `data` may be
// null.

[[nodiscard]] CUresult get_edges(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                                 CUgraphEdgeData* data, std::size_t* count) noexcept;
[[nodiscard]] CUresult get_dependencies(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data,
                                        std::size_t* count) noexcept;
[[nodiscard]] CUresult get_dependents(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data,
                                      std::size_t* count) noexcept;
[[nodiscard]] CUresult connect(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                               const CUgraphEdgeData* data, std::size_t count) noexcept;
[[nodiscard]] CUresult disconnect(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                  const CUgraphEdgeData* data, std::size_t count) noexcept;

// cuStreamUpdateCaptureDependencies.
[[nodiscard]] CUresult set_frontier(CUstream stream, CUgraphNode* nodes,
                                    const CUgraphEdgeData* data, std::size_t count,
                                    unsigned flags) noexcept;

// cuGraphAddNode. Drivers of before CUDA 12.2 have no such function.
[[nodiscard]] CUresult add_to_graph(CUgraphNode& created, CUgraph graph, const CUgraphNode* after,
                                    std::size_t count, CUgraphNodeParams& params) noexcept;

}  // namespace weir::detail
