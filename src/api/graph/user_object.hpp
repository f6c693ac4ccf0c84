// SPDX-License-Identifier: Apache-2.0
// api/graph/user_object.hpp - user objects of the driver, by which graphs keep data alive.
#pragma once

#include "api/core/check.hpp"
#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/detail/keep_alive.hpp>

#include <vector>

namespace weir::detail {

// Creates a user object for `data`. When no graph, executable or launch refers to the user object
// any more, the driver calls destroy(data) on one of its own threads. Throws if the driver refuses;
// the error names `object`, and `destroy` is not called.
[[nodiscard]] CUuserObject create_user_object(void* data, CUhostFn destroy, subject object,
                                              call_site at);

// Transfers the caller's reference to the graph. If this throws, the reference has been released,
// so that the driver may call destroy(data).
void move_to_graph(CUgraph graph, CUuserObject user_object, call_site at);

// An owner that a graph keeps alive, and the user object by which the graph does so.
struct kept_owner {
  CUuserObject user_object;
  keep_alive* owner;
};

// Moves the reference to the graph. When no graph, executable or launch refers to the owner any
// more, the reclaimer thread destroys it. If this throws, the reference has been released.
kept_owner move_to_graph(CUgraph graph, keep_alive_ref owner, call_site at);

// Releases the graph's references to the owners.
void release_owners(CUgraph graph, const std::vector<kept_owner>& owners) noexcept;

}  // namespace weir::detail
