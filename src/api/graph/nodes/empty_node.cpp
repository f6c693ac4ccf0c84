// api/graph/nodes/empty_node.cpp - nodes that do nothing.
#include <weir/graph/nodes/empty_node.hpp>

#include "api/graph/node_calls.hpp"

namespace weir {

CUgraphNode_st* empty_parameters::add_to(CUgraph_st* to, dependency_list after,
                                         call_site at) const {
  abi::CUgraphNodeParams params{};
  params.type = abi::CU_GRAPH_NODE_TYPE_EMPTY;
  return detail::add_node(to, after, params, {}, at);
}

}  // namespace weir
