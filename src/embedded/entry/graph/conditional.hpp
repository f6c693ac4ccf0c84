// SPDX-License-Identifier: Apache-2.0
// embedded/entry/graph/conditional.hpp - adds conditional nodes.
#pragma once

#include "embedded/entry/graph/graph_handle.hpp"

namespace weir::embedded::entry {

// Implements cuGraphAddNode for a conditional node. Stores the handles of the bodies in `params`.
CUresult add_conditional(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                         std::size_t count, CUgraphNodeParams& params);

}  // namespace weir::embedded::entry
