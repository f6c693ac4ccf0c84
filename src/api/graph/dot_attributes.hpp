// SPDX-License-Identifier: Apache-2.0
// api/graph/dot_attributes.hpp - what weir stores about nodes, as attributes of a DOT description.
#pragma once

#include "driver/abi.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace weir::detail {

// A map from node handles to DOT attributes, such as `weir_tag="load"
// weir_call_site="main.cpp:12"`.
using dot_attributes = std::unordered_map<std::uintptr_t, std::string>;

// Returns the attributes of all nodes that have a tag or a call site, in the graph, its child
// graphs and its bodies. Makes no driver call.
[[nodiscard]] dot_attributes attributes_of_nodes(abi::CUgraph graph);

// Returns DOT statements that add `attributes`, and the names of events, to the nodes of `text`.
//
// `text` and `text_with_handles` are two DOT descriptions of one graph by the driver. The second
// one contains the handles of nodes and events. Both list the nodes in the same order, but may name
// a node differently.
[[nodiscard]] std::string attribute_statements(std::string_view text,
                                               std::string_view text_with_handles,
                                               const dot_attributes& attributes);

}  // namespace weir::detail
