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

// A semaphore, which the caller keeps until no launch uses it, and what of a timeline is meant.
struct semaphore_value {
  semaphore_value(const external_semaphore& of, unsigned long long v = 1) noexcept
      : semaphore{of.get()}, value{v} {}
  semaphore_value(CUextSemaphore_st* of, unsigned long long v) noexcept : semaphore{of}, value{v} {}

  CUextSemaphore_st* semaphore;
  unsigned long long value;
  friend bool operator==(const semaphore_value&, const semaphore_value&) = default;
};

class semaphore_signal_parameters;
class semaphore_wait_parameters;

// A node that signals semaphores at each launch: what external_semaphore::signal() becomes in a
// capture.
class WEIR_EXPORT semaphore_signal_node : public detail::typed_node<node_kind::semaphore_signal> {
 public:
  using typed_node::typed_node;

  // cuGraphExternalSemaphoresSignalNodeGetParams.
  [[nodiscard]] semaphore_signal_parameters parameters(call_site at = call_site::current()) const;
  // For executables made from now on; graph_exec::set() changes one that is there.
  // cuGraphNodeSetParams.
  void set(const semaphore_signal_parameters& what, call_site at = call_site::current()) const;
};

// A node that waits for semaphores at each launch: what external_semaphore::wait() becomes in a
// capture.
class WEIR_EXPORT semaphore_wait_node : public detail::typed_node<node_kind::semaphore_wait> {
 public:
  using typed_node::typed_node;

  // cuGraphExternalSemaphoresWaitNodeGetParams.
  [[nodiscard]] semaphore_wait_parameters parameters(call_site at = call_site::current()) const;
  // For executables made from now on; graph_exec::set() changes one that is there.
  // cuGraphNodeSetParams.
  void set(const semaphore_wait_parameters& what, call_site at = call_site::current()) const;
};

// Which semaphores such a node signals: {frame, 7}, or {{frame, 7}, {other, 1}}. A timeline is set
// to the same value at every launch, unless it is changed in between. On an embedded device:
// refused (not_supported).
class WEIR_EXPORT semaphore_signal_parameters {
 public:
  using node_type = semaphore_signal_node;

  explicit semaphore_signal_parameters(semaphore_value one) : semaphores_{one} {}
  explicit semaphore_signal_parameters(std::vector<semaphore_value> all) noexcept
      : semaphores_{std::move(all)} {}

  [[nodiscard]] const std::vector<semaphore_value>& semaphores() const noexcept {
    return semaphores_;
  }

 private:
  friend class semaphore_signal_node;
  friend struct detail::node_access;
  [[nodiscard]] CUgraphNode_st* add_to(CUgraph_st* to, dependency_list after, call_site at) const;
  void set_on(graph_node node, call_site at) const;
  void set_in(CUgraphExec_st* exec, graph_node node, call_site at) const;

  std::vector<semaphore_value> semaphores_;
};

// The same for waits.
class WEIR_EXPORT semaphore_wait_parameters {
 public:
  using node_type = semaphore_wait_node;

  explicit semaphore_wait_parameters(semaphore_value one) : semaphores_{one} {}
  explicit semaphore_wait_parameters(std::vector<semaphore_value> all) noexcept
      : semaphores_{std::move(all)} {}

  [[nodiscard]] const std::vector<semaphore_value>& semaphores() const noexcept {
    return semaphores_;
  }

 private:
  friend class semaphore_wait_node;
  friend struct detail::node_access;
  [[nodiscard]] CUgraphNode_st* add_to(CUgraph_st* to, dependency_list after, call_site at) const;
  void set_on(graph_node node, call_site at) const;
  void set_in(CUgraphExec_st* exec, graph_node node, call_site at) const;

  std::vector<semaphore_value> semaphores_;
};

}  // namespace weir
