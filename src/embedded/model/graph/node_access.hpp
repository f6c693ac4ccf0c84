// model/node_access.hpp - which device the work of nodes is on, where there are several.
#pragma once

#include "driver/abi.hpp"
#include "embedded/model/memory/memory_access.hpp"

namespace weir::embedded::model {

class graph;
struct graph_node;

// Who does what a node for a context does.
[[nodiscard]] memory_user accessor_for(abi::CUcontext context, bool copies) noexcept;

// The context for which a set that is given one is: memory that a context owns on another device is
// set for that context.
[[nodiscard]] abi::CUcontext context_for_memset(abi::CUdeviceptr memory,
                                                abi::CUcontext requested) noexcept;

// A set, in a graph or in what is part of it, whose context does not reach its memory: one that was
// captured so, or whose memory was closed to it since. Null where there is none.
[[nodiscard]] const graph_node* find_inaccessible_memset(const graph& in) noexcept;

}  // namespace weir::embedded::model
