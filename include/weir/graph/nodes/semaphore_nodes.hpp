// SPDX-License-Identifier: Apache-2.0
// weir/graph/nodes/semaphore_nodes.hpp - nodes that signal external semaphores and wait for them.
// GPUs only.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/export.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/nodes/graph_node.hpp>
#include <weir/sync/external_semaphore.hpp>

#include <initializer_list>
#include <utility>
#include <vector>

namespace weir {

/// A semaphore and the value of its timeline. The caller keeps the semaphore until no launch uses
/// it.
struct semaphore_value {
  semaphore_value(const external_semaphore& external, unsigned long long v = 1) noexcept
      : semaphore{external.get()}, value{v} {}
  semaphore_value(CUextSemaphore_st* external, unsigned long long v) noexcept
      : semaphore{external}, value{v} {}

  CUextSemaphore_st* semaphore;
  unsigned long long value;
  friend bool operator==(const semaphore_value&, const semaphore_value&) = default;
};

class semaphore_signal_parameters;
class semaphore_wait_parameters;

/// A node that signals semaphores in each launch. external_semaphore::signal() becomes such a node
/// in a capture.
class WEIR_EXPORT semaphore_signal_node : public detail::typed_node<node_kind::semaphore_signal> {
 public:
  using typed_node::typed_node;

  /// Returns what the node does.
  ///
  /// Driver: cuGraphExternalSemaphoresSignalNodeGetParams.
  [[nodiscard]] semaphore_signal_parameters parameters(call_site at = call_site::current()) const;
  /// Sets the parameters of the node for executables that are instantiated later. For an existing
  /// executable use graph_exec::set().
  ///
  /// Driver: cuGraphNodeSetParams.
  void set(const semaphore_signal_parameters& parameters,
           call_site at = call_site::current()) const;
};

/// A node that waits for semaphores in each launch. external_semaphore::wait() becomes such a node
/// in a capture.
class WEIR_EXPORT semaphore_wait_node : public detail::typed_node<node_kind::semaphore_wait> {
 public:
  using typed_node::typed_node;

  /// Returns what the node does.
  ///
  /// Driver: cuGraphExternalSemaphoresWaitNodeGetParams.
  [[nodiscard]] semaphore_wait_parameters parameters(call_site at = call_site::current()) const;
  /// Sets the parameters of the node for executables that are instantiated later. For an existing
  /// executable use graph_exec::set().
  ///
  /// Driver: cuGraphNodeSetParams.
  void set(const semaphore_wait_parameters& parameters, call_site at = call_site::current()) const;
};

/// Describes a node that signals semaphores: {frame, 7}, or {{frame, 7}, {other, 1}}. Every launch
/// sets a timeline to one value unless the node is changed in between.
///
/// Throws: when added on an embedded device, `not_supported`.
class WEIR_EXPORT semaphore_signal_parameters {
 public:
  using node_type = semaphore_signal_node;

  /// Describes a node that signals one semaphore.
  explicit semaphore_signal_parameters(semaphore_value one) : semaphores_{one} {}
  /// Describes a node that signals several semaphores.
  explicit semaphore_signal_parameters(std::vector<semaphore_value> semaphores) noexcept
      : semaphores_{std::move(semaphores)} {}

  /// Returns the semaphores with their values.
  [[nodiscard]] const std::vector<semaphore_value>& semaphores() const noexcept {
    return semaphores_;
  }

 private:
  friend class semaphore_signal_node;
  friend struct detail::node_access;
  [[nodiscard]] CUgraphNode_st* add_to(CUgraph_st* parent_graph, dependency_list dependencies,
                                       call_site at) const;
  void set_in_graph(graph_node node, call_site at) const;
  void set_in_exec(CUgraphExec_st* exec, graph_node node, call_site at) const;

  std::vector<semaphore_value> semaphores_;
};

/// Describes a node that waits for semaphores: {frame, 7}, or {{frame, 7}, {other, 1}}. Every
/// launch waits for one value of a timeline unless the node is changed in between.
///
/// Throws: when added on an embedded device, `not_supported`.
class WEIR_EXPORT semaphore_wait_parameters {
 public:
  using node_type = semaphore_wait_node;

  /// Describes a node that waits for one semaphore.
  explicit semaphore_wait_parameters(semaphore_value one) : semaphores_{one} {}
  /// Describes a node that waits for several semaphores.
  explicit semaphore_wait_parameters(std::vector<semaphore_value> semaphores) noexcept
      : semaphores_{std::move(semaphores)} {}

  /// Returns the semaphores with their values.
  [[nodiscard]] const std::vector<semaphore_value>& semaphores() const noexcept {
    return semaphores_;
  }

 private:
  friend class semaphore_wait_node;
  friend struct detail::node_access;
  [[nodiscard]] CUgraphNode_st* add_to(CUgraph_st* parent_graph, dependency_list dependencies,
                                       call_site at) const;
  void set_in_graph(graph_node node, call_site at) const;
  void set_in_exec(CUgraphExec_st* exec, graph_node node, call_site at) const;

  std::vector<semaphore_value> semaphores_;
};

}  // namespace weir
