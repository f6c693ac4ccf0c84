// weir/graph/nodes/value_batch_node.hpp - nodes that wait for words of memory and write them.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/nodes/graph_node.hpp>
#include <weir/sync/value_batch.hpp>

#include <utility>

namespace weir {

class value_batch_parameters;

// A node that waits and writes as a value_batch says, at each launch: what value_batch::submit(),
// wait_value() and write_value() become in a capture.
class WEIR_EXPORT value_batch_node : public detail::typed_node<node_kind::value_batch> {
 public:
  using typed_node::typed_node;

  // cuGraphBatchMemOpNodeGetParams.
  [[nodiscard]] value_batch_parameters parameters(call_site at = call_site::current()) const;
  // For executables made from now on; graph_exec::set() changes one that is there.
  // cuGraphBatchMemOpNodeSetParams.
  void set(const value_batch_parameters& what, call_site at = call_site::current()) const;
};

// The waits and writes of such a node, copied from a batch, and the context whose device makes
// them. Their words are the caller's to keep until no launch uses them, or the graph's:
// graph_ref::keep(std::move(word)). In an executable words and values may change; not how many
// there are, nor what each does.
class WEIR_EXPORT value_batch_parameters {
 public:
  using node_type = value_batch_node;

  // In the current context, or, where there is none, in the primary context of device 0.
  explicit value_batch_parameters(value_batch batch) : batch_{std::move(batch)} {}
  value_batch_parameters(value_batch batch, context_ref context)
      : batch_{std::move(batch)}, context_{context} {}

  [[nodiscard]] const value_batch& batch() const noexcept { return batch_; }
  [[nodiscard]] context_ref context() const noexcept { return context_; }  // a null one: not said

 private:
  friend class value_batch_node;
  friend struct detail::node_access;
  [[nodiscard]] CUgraphNode_st* add_to(CUgraph_st* to, dependency_list after, call_site at) const;
  void set_on(graph_node node, call_site at) const;
  void set_in(CUgraphExec_st* exec, graph_node node, call_site at) const;

  value_batch batch_;
  context_ref context_{nullptr};
};

}  // namespace weir
