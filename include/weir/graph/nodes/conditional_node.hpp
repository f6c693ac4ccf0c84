// weir/graph/nodes/conditional_node.hpp - nodes that run graphs of their own if a condition holds,
// or as long as it does.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/nodes/graph_node.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace weir {

// Which of these the driver in use can do.
struct conditional_support {
  bool if_and_while = false;     // from CUDA 12.3 on
  bool else_and_switch = false;  // from CUDA 12.8 on
};

// cuDriverGetVersion.
[[nodiscard]] WEIR_EXPORT conditional_support
conditional_support_of_driver(call_site at = call_site::current());

// A number of a launch that a conditional node of its graph looks at, and that kernels of the graph
// set (cudaGraphSetConditional(c.handle(), value)); nothing on the host can. It belongs to one
// graph, for one node of it or of a part of it, which has to be added before the graph is
// instantiated. It lives as long as its graph. Trivially copyable; pass by value.
class WEIR_EXPORT condition {
 public:
  // `at_launch`: the value that every launch begins with; without one it keeps what the last launch
  // left, and the first one finds anything. In the context given, the current one, or the primary
  // one of device 0. A driver that has no conditions: call_requires_newer_driver.
  // cuGraphConditionalHandleCreate.
  explicit condition(graph_ref of, std::optional<unsigned> at_launch = 0,
                     call_site at = call_site::current());
  condition(graph_ref of, std::optional<unsigned> at_launch, context_ref context,
            call_site at = call_site::current());

  // CUgraphConditionalHandle, cudaGraphConditionalHandle: a kernel's argument.
  [[nodiscard]] unsigned long long handle() const noexcept { return handle_; }
  [[nodiscard]] graph_ref graph() const noexcept { return graph_; }
  [[nodiscard]] context_ref context() const noexcept { return context_; }
  friend bool operator==(const condition& a, const condition& b) noexcept {
    return a.handle_ == b.handle_;
  }

 private:
  unsigned long long handle_ = 0;
  graph_ref graph_;
  context_ref context_;
};

// What a conditional node does; the numbers are the driver's.
enum class conditional_kind : unsigned {
  if_nonzero = 0,  // its first body if the condition is not 0, its second, if it has one, if it is
  while_nonzero = 1,  // its body, again and again; looks before each time
  switch_number = 2,  // the body of that number, from 0 on; none where there is no such
};

// A node that runs bodies by a condition. The bodies are graphs of the node's own, at first empty.
// They hold kernels, fills, copies, empty nodes, child graphs and conditional nodes, those in turn
// of nothing else: what weir adds there of another kind is refused at once (not_supported), and
// what is added directly through the driver when the graph is instantiated, with the node in the
// text. A graph with such nodes has no clones, is no child, not even a moved one, and has one
// executable at a time.
class WEIR_EXPORT conditional_node : public detail::typed_node<node_kind::conditional> {
 public:
  using typed_node::typed_node;

  // The body of that number; one that it does not have is refused (invalid_value). Valid while the
  // node is. Drivers do not tell bodies again: of a node that was not added through weir they are
  // not known (not_supported). No driver call.
  [[nodiscard]] graph_ref body(std::size_t number = 0, call_site at = call_site::current()) const;
  [[nodiscard]] std::vector<graph_ref> bodies(call_site at = call_site::current()) const;
  [[nodiscard]] conditional_kind type(call_site at = call_site::current()) const;
};

namespace detail {

class WEIR_EXPORT conditional_parameters {
 public:
  using node_type = conditional_node;

 protected:
  conditional_parameters(condition by, conditional_kind type, unsigned bodies) noexcept
      : condition_{by}, type_{type}, bodies_{bodies} {}

 private:
  friend struct node_access;
  [[nodiscard]] CUgraphNode_st* add_to(CUgraph_st* to, dependency_list after, call_site at) const;

  condition condition_;
  conditional_kind type_;
  unsigned bodies_;
};

}  // namespace detail

// What adds such nodes: g.add(if_parameters{c}).body(). A condition of another graph is refused
// (invalid_value), and one that a node uses already.

// One body, run if the condition is not 0.
class if_parameters : public detail::conditional_parameters {
 public:
  explicit if_parameters(condition by) noexcept
      : conditional_parameters{by, conditional_kind::if_nonzero, 1} {}
};

// Two: body(0) if it is not 0, body(1) if it is. The condition is looked at once.
class if_else_parameters : public detail::conditional_parameters {
 public:
  explicit if_else_parameters(condition by) noexcept
      : conditional_parameters{by, conditional_kind::if_nonzero, 2} {}
};

// One, run as long as the condition is not 0, and so not at all if it is at first. A kernel of the
// body ends it.
class while_parameters : public detail::conditional_parameters {
 public:
  explicit while_parameters(condition by) noexcept
      : conditional_parameters{by, conditional_kind::while_nonzero, 1} {}
};

// As many as there are cases; the condition is the number of the one that runs.
class switch_parameters : public detail::conditional_parameters {
 public:
  switch_parameters(condition by, unsigned cases) noexcept
      : conditional_parameters{by, conditional_kind::switch_number, cases} {}
};

}  // namespace weir
