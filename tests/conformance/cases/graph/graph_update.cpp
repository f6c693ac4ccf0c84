// SPDX-License-Identifier: Apache-2.0
// cases/graph/graph_update.cpp - records the result of updating a whole graph.
#include "cases/graph/graph_update.hpp"

#include <cstring>

namespace weir::conformance {

void rec_update(Rec& r, const std::string& key, CUgraphExec x, CUgraph gr) {
  CUgraphExecUpdateResultInfo i;
  memset(&i, 0, sizeof i);
  r.k(key, cuGraphExecUpdate(x, gr, &i));
  r.k(key + ".result", i.result);
  r.k(key + ".node", i.errorNode ? node_label(i.errorNode) : "null");
  r.k(key + ".from", i.errorFromNode ? node_label(i.errorFromNode) : "null");
}

}  // namespace weir::conformance
