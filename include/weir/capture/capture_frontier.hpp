// weir/capture/capture_frontier.hpp - the nodes that the next operation of a stream that captures
// comes after.
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

// Nodes that an operation comes after, and what of each it waits for: {a, b}, one node, anything
// with data() and size() that holds graph_nodes, which wait for their ends; or capture_dependencies
// with data of their own, as capture_info::frontier holds them. None at all by default. For
// arguments only: it does not hold them.
class frontier_list {
 public:
  constexpr frontier_list() noexcept = default;
  constexpr frontier_list(const graph_node& one) noexcept : nodes_(one), size_{1} {}
  constexpr frontier_list(std::initializer_list<graph_node> nodes) noexcept
      : nodes_(nodes), size_{nodes.size()} {}
  constexpr frontier_list(dependency_list nodes) noexcept : nodes_(nodes), size_{nodes.size()} {}
  template <class Nodes>
  requires requires(const Nodes& nodes) {
    { nodes.data() } -> std::same_as<const graph_node*>;
    { nodes.size() } -> std::convertible_to<std::size_t>;
  }
  constexpr frontier_list(const Nodes& nodes) noexcept : nodes_(nodes), size_{nodes.size()} {}
  template <class Dependencies>
  requires requires(const Dependencies& some) {
    { some.data() } -> std::same_as<const capture_dependency*>;
    { some.size() } -> std::convertible_to<std::size_t>;
  }
  constexpr frontier_list(const Dependencies& some) noexcept
      : with_data_{some.data()}, size_{some.size()} {}

  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr capture_dependency operator[](std::size_t number) const noexcept {
    return with_data_ != nullptr ? with_data_[number]
                                 : capture_dependency{nodes_.begin()[number], {}};
  }

 private:
  dependency_list nodes_;  // made without braces, which would make a list of their own
  const capture_dependency* with_data_ = nullptr;
  std::size_t size_ = 0;
};

// What becomes of the nodes that the next operation would have come after; the numbers are the
// driver's.
enum class dependency_update : unsigned {
  add = 0,  // it comes after those, too
  set = 1,  // it comes after the new ones only: none of them is a root of the graph
};

// The next operation of the stream, which captures, comes after these nodes. They are of the graph
// of its capture: what was recorded there, by whichever stream, what was added to it by hand, or
// was there before (capture_to). Nodes that `set` drops need not be joined, unless another stream
// comes after them. A node that is there already is no error. Refused, with nothing changed: a
// stream that does not capture (illegal_state), a capture that is broken
// (stream_capture_invalidated), and, with its name in the text, a node that is none or of another
// graph (invalid_value). Data other than 0 are for edges between kernels (else invalid_value), and
// for drivers from CUDA 12.3 on (else call_requires_newer_driver). In a host function: refused
// (not_permitted). Thread safety: as operations of the stream. cuStreamGetCaptureInfo,
// cuStreamUpdateCaptureDependencies, and for nodes of which nobody told the graph cuGraphGetNodes.
WEIR_EXPORT void update_capture_dependencies(stream_ref stream, frontier_list nodes,
                                             dependency_update how = dependency_update::add,
                                             call_site at = call_site::current());

}  // namespace weir
