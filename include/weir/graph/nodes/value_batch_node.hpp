// SPDX-License-Identifier: Apache-2.0
// weir/graph/nodes/value_batch_node.hpp - nodes that wait for words of memory and write them.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/nodes/graph_node.hpp>
#include <weir/sync/value_batch.hpp>

#include <utility>
#include <vector>

namespace weir {

class value_batch_parameters;

/// A node that runs the waits and writes of a value_batch in each launch. value_batch::submit(),
/// wait_value() and write_value() become such nodes in a capture.
class WEIR_EXPORT value_batch_node
    : public detail::settable_node<node_kind::value_batch, value_batch_parameters> {
 public:
  using settable_node::settable_node;

  /// Returns what the node does.
  ///
  /// Driver: cuGraphBatchMemOpNodeGetParams.
  [[nodiscard]] value_batch_parameters parameters(call_site at = call_site::current()) const;
};

/// Describes a node that runs the waits and writes of a batch on the device of a context. This
/// object holds a copy of the batch.
///
/// The caller must keep the words of memory that the batch uses until no launch uses them, or give
/// them to the graph: graph_ref::keep(std::move(word)). graph_exec::set() can change the words and
/// values, but not the number or the kinds of operations.
class WEIR_EXPORT value_batch_parameters {
 public:
  using node_type = value_batch_node;

  /// The node runs the operations in the current context, or else in the primary context of device
  /// 0.
  explicit value_batch_parameters(value_batch batch) : batch_{std::move(batch)} {}
  /// The node runs the operations in `context`.
  value_batch_parameters(value_batch batch, context_ref context)
      : batch_{std::move(batch)}, context_{context} {}

  /// Returns the waits and writes.
  [[nodiscard]] const value_batch& batch() const noexcept { return batch_; }
  /// Returns the context; null if none was given.
  [[nodiscard]] context_ref context() const noexcept { return context_; }

 private:
  friend class value_batch_node;
  friend struct detail::node_access;
  [[nodiscard]] CUgraphNode_st* add_to(detail::insertion_point point, call_site at) const;
  void set_in_graph(graph_node node, call_site at) const;
  void set_in_exec(CUgraphExec_st* exec, graph_node node, call_site at) const;
  [[nodiscard]] std::vector<detail::region> memory() const;

  value_batch batch_;
  context_ref context_{nullptr};
};

}  // namespace weir
