// SPDX-License-Identifier: Apache-2.0
// api/graph/node_failure.hpp - explains why nodes cannot be added or changed.
#pragma once

#include "api/core/check.hpp"

#include <weir/graph/nodes/graph_node.hpp>

#include <string>

namespace weir::detail {

// Returns a text such as "fill node "scale" 0x55d0c8", from the driver and the metadata. Unknown
// parts are left out.
[[nodiscard]] std::string describe(graph_node node);
[[nodiscard]] const char* name_of(node_kind kind) noexcept;
[[nodiscard]] std::string describe_kind(node_kind kind);  // "a fill node", "an empty node"

// Returns what the parameters of a kind of node have to satisfy.
[[nodiscard]] const char* hint_for(node_kind kind) noexcept;

// Throws an error that explains why the driver refuses to add the node.
[[noreturn, gnu::cold]] void fail_adding(CUresult answer, CUgraph parent_graph,
                                         dependency_list dependencies, node_kind kind,
                                         std::string reason, call_site at);

// Throws an error that explains why the driver refuses the parameters. fail_setting() is for a node
// of a graph, fail_setting_in_exec() for a node of an executable.
[[noreturn, gnu::cold]] void fail_setting(CUresult answer, const char* call, graph_node node,
                                          node_kind expected, call_site at);
[[noreturn, gnu::cold]] void fail_setting_in_exec(CUresult answer, const char* call,
                                                  CUgraphExec exec, graph_node node,
                                                  node_kind expected, call_site at);

}  // namespace weir::detail
