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

/// A semaphore and the value to signal or to wait for; the value has no meaning for a binary
/// semaphore. The caller must keep the semaphore until no launch uses it.
struct semaphore_value {
  semaphore_value(const external_semaphore& from, unsigned long long v = 1) noexcept
      : semaphore{from.get()}, value{v} {}
  semaphore_value(CUextSemaphore_st* handle, unsigned long long v) noexcept
      : semaphore{handle}, value{v} {}

  CUextSemaphore_st* semaphore;
  unsigned long long value;
  friend bool operator==(const semaphore_value&, const semaphore_value&) = default;
};

namespace detail {

template <node_kind Kind>
class semaphore_parameters;

/// A node that signals external semaphores or waits for them.
template <node_kind Kind>
class WEIR_EXPORT semaphore_node : public settable_node<Kind, semaphore_parameters<Kind>> {
 public:
  using settable_node<Kind, semaphore_parameters<Kind>>::settable_node;

  /// Returns the parameters of the node.
  ///
  /// Driver: cuGraphExternalSemaphoresSignalNodeGetParams or
  /// cuGraphExternalSemaphoresWaitNodeGetParams.
  [[nodiscard]] semaphore_parameters<Kind> parameters(call_site at = call_site::current()) const;
};

/// The type of semaphore_signal_parameters and semaphore_wait_parameters.
template <node_kind Kind>
class WEIR_EXPORT semaphore_parameters {
 public:
  using node_type = semaphore_node<Kind>;

  /// Describes a node that uses one semaphore.
  explicit semaphore_parameters(semaphore_value semaphore) : semaphores_{semaphore} {}
  /// Describes a node that uses several semaphores.
  explicit semaphore_parameters(std::vector<semaphore_value> semaphores) noexcept
      : semaphores_{std::move(semaphores)} {}

  /// Returns the semaphores with their values.
  [[nodiscard]] const std::vector<semaphore_value>& semaphores() const noexcept {
    return semaphores_;
  }

 private:
  friend struct node_access;
  [[nodiscard]] CUgraphNode_st* add_to(insertion_point point, call_site at) const;
  void set_in_graph(graph_node node, call_site at) const;
  void set_in_exec(CUgraphExec_st* exec, graph_node node, call_site at) const;

  std::vector<semaphore_value> semaphores_;
};

extern template class semaphore_node<node_kind::semaphore_signal>;
extern template class semaphore_node<node_kind::semaphore_wait>;
extern template class semaphore_parameters<node_kind::semaphore_signal>;
extern template class semaphore_parameters<node_kind::semaphore_wait>;

}  // namespace detail

/// A node that signals semaphores in each launch. external_semaphore::signal() becomes such a node
/// in a capture.
using semaphore_signal_node = detail::semaphore_node<node_kind::semaphore_signal>;
/// A node that waits for semaphores in each launch. external_semaphore::wait() becomes such a node
/// in a capture.
using semaphore_wait_node = detail::semaphore_node<node_kind::semaphore_wait>;

/// Describes a node that signals semaphores: {frame, 7}, or {{frame, 7}, {other, 1}}. Every launch
/// signals the values that the node holds; set other values between launches if a timeline has to
/// advance.
///
/// Throws: when added on an embedded device, `not_supported`.
using semaphore_signal_parameters = detail::semaphore_parameters<node_kind::semaphore_signal>;
/// Describes a node that waits for semaphores: {frame, 7}, or {{frame, 7}, {other, 1}}. Every
/// launch waits for the values that the node holds; set other values between launches to wait for a
/// later point of a timeline.
///
/// Throws: when added on an embedded device, `not_supported`.
using semaphore_wait_parameters = detail::semaphore_parameters<node_kind::semaphore_wait>;

}  // namespace weir
