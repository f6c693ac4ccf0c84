// SPDX-License-Identifier: Apache-2.0
// weir/graph/nodes/conditional_node.hpp - nodes that run graphs if, or while, a condition holds.
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

/// The kinds of conditional nodes that the driver supports.
struct conditional_support {
  bool if_and_while = false;     ///< if_ and while_parameters; CUDA 12.3 or later
  bool else_and_switch = false;  ///< if_else_ and switch_parameters; CUDA 12.8 or later
};

/// Returns which conditional nodes the driver supports.
///
/// Driver: cuDriverGetVersion.
[[nodiscard]] WEIR_EXPORT conditional_support
conditional_support_of_driver(call_site at = call_site::current());

/// A number that a conditional node reads in each launch, and that kernels of the graph set:
/// cudaGraphSetConditional(c.handle(), value). The host cannot set it.
///
/// A condition belongs to one graph. One conditional node reads it, in that graph, in a child graph
/// of it or in a conditional body in it. Add this node before the graph is instantiated. Trivially
/// copyable; pass by value. Valid until the graph is destroyed.
class WEIR_EXPORT condition {
 public:
  /// Creates a condition in the current context, or else in the primary context of device 0.
  ///
  /// `at_launch` is the value at the start of each launch. If unset, a launch begins with the value
  /// that the previous launch left; the first value is then unspecified.
  ///
  /// Throws: `call_requires_newer_driver` if the driver has no conditions.
  /// Driver: cuGraphConditionalHandleCreate.
  explicit condition(graph_ref owner_graph, std::optional<unsigned> at_launch = 0,
                     call_site at = call_site::current());
  /// Creates a condition in `context`. `at_launch` is the value at the start of each launch; if
  /// unset, a launch begins with the value that the previous launch left.
  ///
  /// Throws: `call_requires_newer_driver` if the driver has no conditions.
  /// Driver: cuGraphConditionalHandleCreate.
  condition(graph_ref owner_graph, std::optional<unsigned> at_launch, context_ref context,
            call_site at = call_site::current());

  /// Returns the handle to pass to a kernel (CUgraphConditionalHandle, cudaGraphConditionalHandle).
  [[nodiscard]] unsigned long long handle() const noexcept { return handle_; }
  /// Returns the graph of the condition.
  [[nodiscard]] graph_ref graph() const noexcept { return graph_; }
  /// Returns the context of the condition.
  [[nodiscard]] context_ref context() const noexcept { return context_; }
  /// Returns true if both have one handle.
  friend bool operator==(const condition& a, const condition& b) noexcept {
    return a.handle_ == b.handle_;
  }

 private:
  unsigned long long handle_ = 0;
  graph_ref graph_;
  context_ref context_;
};

/// Says how a conditional node uses its condition. The values are those of the driver.
enum class conditional_kind : unsigned {
  /// Runs the first body if the condition is not 0, else the second body if there is one.
  if_nonzero = 0,
  /// Runs the body repeatedly while the condition is not 0; checks it before each run.
  while_nonzero = 1,
  /// Runs body number `condition`, counted from 0; runs no body if the number is too large.
  switch_number = 2,
};

/// A node that runs bodies depending on a condition. Bodies are graphs that belong to the node and
/// are empty at first.
///
/// Bodies may hold kernels, fills, copies, empty nodes, child graphs and conditional nodes, nested
/// ones included. weir refuses to add other kinds (`not_supported`). Other kinds added directly
/// through the driver are refused when the graph is instantiated, with the node in the text.
/// A graph with conditional nodes cannot be cloned or be a child graph (add_moved_child()
/// included), and has one executable at a time.
class WEIR_EXPORT conditional_node : public detail::typed_node<node_kind::conditional> {
 public:
  using typed_node::typed_node;

  /// Returns the body with the index `number`, from 0. Valid until the node is removed. No driver
  /// call.
  ///
  /// Throws: `invalid_value` if the number is too large; `not_supported` for a node added directly
  /// through the driver, since drivers do not report bodies.
  [[nodiscard]] graph_ref body(std::size_t number = 0, call_site at = call_site::current()) const;
  /// Returns all bodies, in order. No driver call.
  ///
  /// Throws: `not_supported` for a node that was not added through weir.
  [[nodiscard]] std::vector<graph_ref> bodies(call_site at = call_site::current()) const;
  /// Returns how the node uses its condition. No driver call.
  ///
  /// Throws: `not_supported` for a node that was not added through weir.
  [[nodiscard]] conditional_kind type(call_site at = call_site::current()) const;
};

namespace detail {

/// The base class of if_, if_else_, while_ and switch_parameters.
class WEIR_EXPORT conditional_parameters {
 public:
  using node_type = conditional_node;

 protected:
  conditional_parameters(condition predicate, conditional_kind type, unsigned bodies) noexcept
      : condition_{predicate}, type_{type}, bodies_{bodies} {}

 private:
  friend struct node_access;
  [[nodiscard]] CUgraphNode_st* add_to(insertion_point point, call_site at) const;

  condition condition_;
  conditional_kind type_;
  unsigned bodies_;  ///< number of bodies
};

}  // namespace detail

/// Describes a node with one body that runs if the condition is not 0:
/// g.add(if_parameters{c}).body().
///
/// Throws: when added, `invalid_value` for a condition of another graph, and for a condition that a
/// node already uses.
class if_parameters : public detail::conditional_parameters {
 public:
  /// Describes a node that reads this condition.
  explicit if_parameters(condition predicate) noexcept
      : conditional_parameters{predicate, conditional_kind::if_nonzero, 1} {}
};

/// Describes a node with two bodies: body(0) runs if the condition is not 0, else body(1). The
/// condition is read once.
///
/// Throws: when added, as if_parameters.
class if_else_parameters : public detail::conditional_parameters {
 public:
  /// Describes a node that reads this condition.
  explicit if_else_parameters(condition predicate) noexcept
      : conditional_parameters{predicate, conditional_kind::if_nonzero, 2} {}
};

/// Describes a node with one body that runs while the condition is not 0, possibly zero times. A
/// kernel of the body ends the loop.
///
/// Throws: when added, as if_parameters.
class while_parameters : public detail::conditional_parameters {
 public:
  /// Describes a node that reads this condition.
  explicit while_parameters(condition predicate) noexcept
      : conditional_parameters{predicate, conditional_kind::while_nonzero, 1} {}
};

/// Describes a node with `cases` bodies. The condition is the index of the body that runs, from 0;
/// no body runs if the index is too large.
///
/// Throws: when added, as if_parameters.
class switch_parameters : public detail::conditional_parameters {
 public:
  /// Describes a node that reads this condition, with `cases` bodies.
  switch_parameters(condition predicate, unsigned cases) noexcept
      : conditional_parameters{predicate, conditional_kind::switch_number, cases} {}
};

}  // namespace weir
