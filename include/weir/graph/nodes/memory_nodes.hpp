// SPDX-License-Identifier: Apache-2.0
// weir/graph/nodes/memory_nodes.hpp - nodes that allocate memory and free it.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/device.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/nodes/graph_node.hpp>

#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

namespace weir {

/// A node that allocates device memory in each launch. Every launch allocates at one address, which
/// is fixed when the node is added.
///
/// The memory may be used by work after the node. A free node of this or another graph frees the
/// memory, or a stream frees it after the launch (buffer<T>::adopt). A launch fails if the memory
/// of the previous launch was not freed, unless the executable frees it itself
/// (instantiate_options::auto_free_on_launch).
/// In a graph with such a node, nodes and edges cannot be removed. The graph cannot be cloned or be
/// a conditional body, and has one executable at a time. It becomes a child graph only by
/// add_moved_child().
class WEIR_EXPORT allocation_node : public detail::typed_node<node_kind::allocation> {
 public:
  using typed_node::typed_node;

  /// Returns the address that every launch allocates.
  ///
  /// Driver: cuGraphMemAllocNodeGetParams.
  [[nodiscard]] void* address(call_site at = call_site::current()) const;
  /// Returns the size of the memory in bytes.
  ///
  /// Driver: cuGraphMemAllocNodeGetParams.
  [[nodiscard]] std::size_t bytes(call_site at = call_site::current()) const;
  /// Returns the device of the memory.
  ///
  /// Driver: cuGraphMemAllocNodeGetParams.
  [[nodiscard]] weir::device device(call_site at = call_site::current()) const;

  /// Returns the whole memory as elements, for parameters of later nodes.
  ///
  /// Driver: cuGraphMemAllocNodeGetParams.
  template <class T>
  [[nodiscard]] std::span<T> memory(call_site at = call_site::current()) const {
    static_assert(std::is_trivially_copyable_v<T>);
    return {static_cast<T*>(address(at)), bytes(at) / sizeof(T)};
  }
};

/// A node that frees memory of an allocation node, of this or another graph, in each launch.
class WEIR_EXPORT free_node : public detail::typed_node<node_kind::free> {
 public:
  using typed_node::typed_node;

  /// Returns the address that the node frees.
  ///
  /// Driver: cuGraphMemFreeNodeGetParams.
  [[nodiscard]] void* address(call_site at = call_site::current()) const;
};

/// Describes an allocation node. The node cannot be changed after it was added.
class WEIR_EXPORT allocation_parameters {
 public:
  using node_type = allocation_node;

  /// Allocates `bytes` bytes on `gpu`. The devices in `accessible_from` may use the memory, too;
  /// they must be able to access `gpu` (device::can_access). The driver refuses 0 bytes
  /// (`invalid_value`).
  allocation_parameters(device gpu, std::size_t bytes, std::span<const device> accessible_from = {})
      : device_{gpu},
        bytes_{bytes},
        accessible_from_{accessible_from.begin(), accessible_from.end()} {}

  /// Describes an allocation of `count` elements of T.
  template <class T>
  [[nodiscard]] static allocation_parameters for_elements(
      device gpu, std::size_t count, std::span<const device> accessible_from = {}) {
    static_assert(std::is_trivially_copyable_v<T>);
    return {gpu, count * sizeof(T), accessible_from};
  }

 private:
  friend struct detail::node_access;
  [[nodiscard]] CUgraphNode_st* add_to(detail::insertion_point point, call_site at) const;

  device device_;
  std::size_t bytes_;
  std::vector<device> accessible_from_;
};

/// Describes a free node. The node must come after the allocation node whose memory it frees, and
/// cannot be changed after it was added.
class WEIR_EXPORT free_parameters {
 public:
  using node_type = free_node;

  /// Frees the memory of an allocation node.
  ///
  /// Driver: cuGraphMemAllocNodeGetParams.
  explicit free_parameters(allocation_node allocation, call_site at = call_site::current())
      : address_{allocation.address(at)} {}
  /// Frees the memory at an address that allocation_node::address() returned.
  explicit free_parameters(void* address) noexcept : address_{address} {}

 private:
  friend struct detail::node_access;
  [[nodiscard]] CUgraphNode_st* add_to(detail::insertion_point point, call_site at) const;

  void* address_;
};

/// The device memory of graphs with allocation nodes, in bytes. `reserved` is the memory that the
/// driver holds for such graphs, and `used` is the part of it that is allocated. The suffix _high
/// marks the highest value since the last reset_graph_memory_marks().
struct graph_memory_usage {
  unsigned long long used = 0;
  unsigned long long used_high = 0;
  unsigned long long reserved = 0;
  unsigned long long reserved_high = 0;
};

/// Returns how much memory graphs hold on a device.
///
/// Driver: cuDeviceGetGraphMemAttribute.
[[nodiscard]] WEIR_EXPORT graph_memory_usage graph_memory_of(device gpu,
                                                             call_site at = call_site::current());
/// Resets the _high values of graph_memory_usage to the current values.
///
/// Driver: cuDeviceSetGraphMemAttribute.
WEIR_EXPORT void reset_graph_memory_marks(device gpu, call_site at = call_site::current());
/// Releases memory that the driver reserved for graphs and that is not in use, so that other
/// allocations on the device can use it.
///
/// Driver: cuDeviceGraphMemTrim.
WEIR_EXPORT void trim_graph_memory(device gpu, call_site at = call_site::current());

}  // namespace weir
