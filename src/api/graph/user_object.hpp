// SPDX-License-Identifier: Apache-2.0
// api/graph/user_object.hpp - user objects of the driver, by which graphs keep data alive.
#pragma once

#include "api/core/check.hpp"
#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>

#include <vector>

namespace weir::detail {

// Creates a user object for `data`. The driver calls destroy(data) on a thread of its own when no
// graph, executable or launch refers to the object any more. `object` is named in the error.
[[nodiscard]] CUuserObject create_user_object(void* data, CUhostFn destroy, subject object,
                                              call_site at);

// Transfers the caller's reference to the graph. If this throws, the reference was released.
void move_to_graph(CUgraph graph, CUuserObject user_object, call_site at);

// Releases one reference of the graph to each object.
void release_user_objects(CUgraph graph, const std::vector<CUuserObject>& user_objects) noexcept;

}  // namespace weir::detail
