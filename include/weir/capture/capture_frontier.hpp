// SPDX-License-Identifier: Apache-2.0
// weir/capture/capture_frontier.hpp - the frontier of a capturing stream: the nodes on which its
// next operation depends.
#pragma once

#include <weir/capture/capture.hpp>
#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/graph/nodes/graph_node.hpp>
#include <weir/stream/stream.hpp>

#include <concepts>
#include <cstddef>
#include <initializer_list>

namespace weir {

/// A list of nodes on which an operation depends, for function arguments. It accepts one node, {a,
/// b}, any range of graph_node with data() and size(), or a range of capture_dependency with edge
/// data, as capture_info::frontier is. It is empty by default. It refers to its elements and does
/// not copy them.
class frontier_list {
 public:
  /// The next operation depends on no node.
  constexpr frontier_list() noexcept = default;
  /// The next operation depends on the end of one node.
  constexpr frontier_list(const graph_node& one) noexcept : nodes_(one), size_{1} {}
  /// The next operation depends on the ends of several nodes, as {a, b}.
  constexpr frontier_list(std::initializer_list<graph_node> nodes) noexcept
      : nodes_(nodes), size_{nodes.size()} {}
  /// The next operation depends on the ends of the nodes of a dependency_list.
  constexpr frontier_list(dependency_list nodes) noexcept : nodes_(nodes), size_{nodes.size()} {}
  /// The next operation depends on the ends of the nodes of a range.
  template <class Nodes>
  requires requires(const Nodes& nodes) {
    { nodes.data() } -> std::same_as<const graph_node*>;
    { nodes.size() } -> std::convertible_to<std::size_t>;
  }
  constexpr frontier_list(const Nodes& nodes) noexcept : nodes_(nodes), size_{nodes.size()} {}
  /// The next operation depends on the nodes of a range, each with its edge data.
  template <class Dependencies>
  requires requires(const Dependencies& some) {
    { some.data() } -> std::same_as<const capture_dependency*>;
    { some.size() } -> std::convertible_to<std::size_t>;
  }
  constexpr frontier_list(const Dependencies& some) noexcept
      : with_data_{some.data()}, size_{some.size()} {}

  /// Returns the number of nodes.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  /// Returns the dependency with the index `number`; its edge data is zero unless the list has edge
  /// data.
  [[nodiscard]] constexpr capture_dependency operator[](std::size_t number) const noexcept {
    return with_data_ != nullptr ? with_data_[number]
                                 : capture_dependency{nodes_.begin()[number], {}};
  }

 private:
  /// The nodes, if the list has no edge data. Constructors initialise this member with parentheses.
  /// Braces would create an initializer_list that refers to a temporary copy of the nodes.
  dependency_list nodes_;
  const capture_dependency* with_data_ = nullptr;  ///< the list with edge data; else null
  std::size_t size_ = 0;
};

/// The change that update_capture_dependencies() makes to the frontier. The numbers are the
/// driver's.
enum class dependency_update : unsigned {
  add = 0,  ///< add the new nodes to the present ones
  /// Replace the present nodes by the new ones. With an empty list, the next operation becomes a
  /// root.
  set = 1,
};

/// Makes the next operation of a capturing stream depend on `nodes`. They must belong to the graph
/// of the capture: recorded by any stream, added by hand, or present before the capture
/// (capture_to). A node that is in the frontier already is not an error. A node that `set` removes
/// from the frontier does not count as unjoined work at the end, unless the next operation of
/// another stream depends on it.
///
/// Throws: with nothing changed, `illegal_state` if the stream does not capture, and
/// `stream_capture_invalidated` if its capture is invalidated. Throws `invalid_value`, naming the
/// node, for an invalid node or one of another graph. Edge data other than 0 throw `invalid_value`
/// unless both ends are kernels, and `call_requires_newer_driver` with drivers before CUDA 12.3.
/// In a host function: throws `not_permitted`.
/// Thread safety: as operations of the stream.
/// Driver: cuStreamGetCaptureInfo, cuStreamUpdateCaptureDependencies; cuGraphGetNodes for nodes
/// that weir has not seen yet.
WEIR_EXPORT void update_capture_dependencies(stream_ref stream, frontier_list nodes,
                                             dependency_update how = dependency_update::add,
                                             call_site at = call_site::current());

}  // namespace weir
