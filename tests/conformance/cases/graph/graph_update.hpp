// cases/graph_update.hpp - recording what an update of a whole graph answers.
#pragma once

#include "probe/probe.hpp"

#include <string>

namespace weir::conformance {

void rec_update(Rec& r, const std::string& key, CUgraphExec x, CUgraph gr);

}  // namespace weir::conformance
