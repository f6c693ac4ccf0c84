// SPDX-License-Identifier: Apache-2.0
// api/graph/node_failure.hpp - explains why nodes cannot be added or changed.
#pragma once

#include "api/core/check.hpp"

#include <weir/graph/nodes/graph_node.hpp>

#include <string>

namespace weir::detail {

// The hint of an error for a node that the driver does not find.
inline constexpr const char* no_such_node =
    "the node does not exist or was destroyed; pass a node of an existing graph";

// Returns a text such as `fill node "scale" 0x55d0c8`: the kind as the driver reports it, the tag,
// and the handle. Leaves out what is not known. An empty node is "no node".
[[nodiscard]] std::string describe(graph_node node);
// Returns the name of the kind without "node", such as "fill".
[[nodiscard]] const char* name_of(node_kind kind) noexcept;
[[nodiscard]] std::string describe_kind(node_kind kind);  // "a fill node", "an empty node"

// Returns the conditions that the parameters of this kind of node must satisfy, with a way to
// satisfy them.
[[nodiscard]] const char* hint_for(node_kind kind) noexcept;

// Throws the error for a node that the driver refused to add. `reason` is what the caller has
// determined; it may be empty. Codes other than INVALID_VALUE, INVALID_HANDLE and NOT_SUPPORTED get
// their general hint instead.
[[noreturn, gnu::cold]] void fail_adding(CUresult answer, insertion_point point, node_kind kind,
                                         std::string reason, call_site at);

// Throws the error for parameters that the driver refused to set for a node of a graph.
[[noreturn, gnu::cold]] void fail_setting(CUresult answer, const char* call, graph_node node,
                                          node_kind expected, call_site at);
// Throws the error for parameters that the driver refused to set for a node of an executable.
[[noreturn, gnu::cold]] void fail_setting_in_exec(CUresult answer, const char* call,
                                                  CUgraphExec exec, graph_node node,
                                                  node_kind expected, call_site at);

}  // namespace weir::detail
