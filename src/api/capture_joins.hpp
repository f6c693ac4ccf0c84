// api/capture_joins.hpp - forks of a capture, and what joins them again.
#pragma once

#include "api/capture_registry.hpp"

#include <weir/call_site.hpp>

#include <vector>

namespace weir::detail {

// Those of the joined streams whose work the origin, as it is just now, does not come after. Drivers before CUDA 12.3 do not
// tell the edges between nodes: then some of these are, and which is not known.
struct loose_streams {
  std::vector<CUstream> streams;
  bool each = true;
};
[[nodiscard]] loose_streams find_loose(const std::vector<joined_stream>& joined, const capture_part& origin,
                                       call_site at);

// The origin's next operation, and so the end, comes after every node that nothing comes after; with those drivers after
// all that weir has seen join.
void join_leaves(CUstream origin, const capture_part& now, const std::vector<joined_stream>& joined, call_site at);

}  // namespace weir::detail
