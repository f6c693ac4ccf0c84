// api/capture/capture_joins.hpp - forks of a capture, and what joins them again.
#pragma once

#include "api/capture/capture_registry.hpp"

#include <weir/core/call_site.hpp>

#include <vector>

namespace weir::detail {

// Those of the joined streams whose work the origin, as it is just now, does not come after.
[[nodiscard]] std::vector<CUstream> find_unjoined(const std::vector<joined_stream>& joined,
                                                  const stream_capture_info& origin, call_site at);

// The next operation of the stream that it began in, and so the end, comes after every node that
// nothing comes after.
void join_leaves(CUstream origin, CUgraph graph, call_site at);

}  // namespace weir::detail
