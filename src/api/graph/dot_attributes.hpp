// SPDX-License-Identifier: Apache-2.0
// api/graph/dot_attributes.hpp - what weir stores about nodes, as attributes of a DOT description.
#pragma once

#include "driver/abi.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace weir::detail {

// DOT attributes by node handle, such as `weir_tag="load" weir_call_site="main.cpp:12"`.
using dot_attributes = std::unordered_map<std::uintptr_t, std::string>;

// Returns the attributes of the tagged nodes and of those with a call site, in the graph, its child
// graphs and its bodies. No driver call.
[[nodiscard]] dot_attributes attributes_of_nodes(abi::CUgraph graph);

// Returns DOT statements that add the attributes, and the names of events, to the nodes of `text`.
// `text_with_handles` describes the graph with the handles of nodes and events. Both texts list the
// nodes in one order; their names of nodes may differ.
[[nodiscard]] std::string attribute_statements(std::string_view text,
                                               std::string_view text_with_handles,
                                               const dot_attributes& attributes);

}  // namespace weir::detail
