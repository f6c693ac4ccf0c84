// SPDX-License-Identifier: Apache-2.0
// cases/graph/graph_update.hpp - records the result of updating a whole graph.
#pragma once

#include "probe/probe.hpp"

#include <string>

namespace weir::conformance {

void rec_update(Rec& r, const std::string& key, CUgraphExec x, CUgraph gr);

}  // namespace weir::conformance
