// api/graph/node_failure.hpp - why nodes of graphs cannot be added or changed, in words.
#pragma once

#include "api/core/check.hpp"

#include <weir/graph/nodes/graph_node.hpp>

#include <string>

namespace weir::detail {

// "fill node "scale" 0x55d0c8", as far as the driver and the notes tell.
[[nodiscard]] std::string describe(graph_node node);
[[nodiscard]] const char* name_of(node_kind kind) noexcept;
[[nodiscard]] std::string describe_kind(node_kind kind);  // "a fill node", "an empty node"

// What parameters of a kind have to be.
[[nodiscard]] const char* hint_for(node_kind kind) noexcept;

// Throws what says why the driver refuses to add such a node.
[[noreturn, gnu::cold]] void fail_adding(CUresult answer, CUgraph to, dependency_list after,
                                         node_kind kind, std::string reason, call_site at);

// Throws what says why the driver refuses these parameters for the node, of a graph or of an
// executable.
[[noreturn, gnu::cold]] void fail_setting(CUresult answer, const char* call, graph_node node,
                                          node_kind wanted, call_site at);
[[noreturn, gnu::cold]] void fail_setting_in(CUresult answer, const char* call, CUgraphExec exec,
                                             graph_node node, node_kind wanted, call_site at);

}  // namespace weir::detail
