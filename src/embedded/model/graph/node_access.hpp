// SPDX-License-Identifier: Apache-2.0
// model/graph/node_access.hpp - the contexts and devices of nodes, with several devices.
#pragma once

#include "driver/abi.hpp"
#include "embedded/model/memory/memory_access.hpp"

namespace weir::embedded::model {

class graph;
struct graph_node;

// Returns the user whose access is checked for a node of a context.
[[nodiscard]] memory_user memory_user_of_node(abi::CUcontext context, bool copies) noexcept;

// Returns the context of a memset node for which `requested` was given. For memory that a context
// owns on another device it is that context.
[[nodiscard]] abi::CUcontext context_for_memset(abi::CUdeviceptr memory,
                                                abi::CUcontext requested) noexcept;

// Returns a memset node, in the graph or a subgraph, whose context cannot access its memory, or
// null. Captures can create them, and access can be revoked later.
[[nodiscard]] const graph_node* find_inaccessible_memset(const graph& in) noexcept;

}  // namespace weir::embedded::model
