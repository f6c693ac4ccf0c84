// model/node_reach.hpp - which device the work of nodes is on, where there are several.
#pragma once

#include "driver/abi.hpp"
#include "embedded/model/memory/reach.hpp"

namespace weir::embedded::model {

class graph;
struct graph_node;

// Who does what a node for a context does.
[[nodiscard]] memory_user user_for(abi::CUcontext context, bool copies) noexcept;

// The context for which a set that is given one is: memory that a context owns on another device is set for that context.
[[nodiscard]] abi::CUcontext context_for_set(abi::CUdeviceptr memory, abi::CUcontext given) noexcept;

// A set, in a graph or in what is part of it, whose context does not reach its memory: one that was captured so, or whose
// memory was closed to it since. Null where there is none.
[[nodiscard]] const graph_node* find_set_out_of_reach(const graph& in) noexcept;

}  // namespace weir::embedded::model
