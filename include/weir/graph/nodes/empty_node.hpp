// weir/graph/nodes/empty_node.hpp - nodes that do nothing but order others.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/graph/nodes/graph_node.hpp>

namespace weir {

// A node without an operation: what comes after it comes after all that it comes after.
// graph_ref::join() makes one where it takes one.
class empty_node : public detail::typed_node<node_kind::empty> {
 public:
  using typed_node::typed_node;
};

// What adds one: g.add(empty_parameters{}, {a, b}).
class WEIR_EXPORT empty_parameters {
 public:
  using node_type = empty_node;

 private:
  friend struct detail::node_access;
  [[nodiscard]] CUgraphNode_st* add_to(CUgraph_st* to, dependency_list after, call_site at) const;
};

}  // namespace weir
