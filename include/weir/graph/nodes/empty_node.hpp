// SPDX-License-Identifier: Apache-2.0
// weir/graph/nodes/empty_node.hpp - nodes that only order other nodes.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/graph/nodes/graph_node.hpp>

namespace weir {

/// A node without an operation: nodes after it run after all nodes that it depends on.
/// graph_ref::join() creates one if needed.
class empty_node : public detail::typed_node<node_kind::empty> {
 public:
  using typed_node::typed_node;
};

/// Describes an empty node: g.add(empty_parameters{}, {a, b}).
class WEIR_EXPORT empty_parameters {
 public:
  using node_type = empty_node;

 private:
  friend struct detail::node_access;
  [[nodiscard]] CUgraphNode_st* add_to(detail::insertion_point point, call_site at) const;
};

}  // namespace weir
