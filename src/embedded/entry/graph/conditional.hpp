// entry/conditional.hpp - conditional nodes as programs add them.
#pragma once

#include "embedded/entry/graph/graph_handle.hpp"

namespace weir::embedded::entry {

// cuGraphAddNode of a conditional node: `params` gets the handles of the bodies.
CUresult add_conditional(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                         std::size_t count, CUgraphNodeParams& params);

}  // namespace weir::embedded::entry
