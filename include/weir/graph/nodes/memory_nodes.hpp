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

// A node that allocates memory of a device at each launch, at an address that is known when the
// node is made and stays the same. It is memory from then on, for the work behind the node, until a
// free node of this graph or of another one gives it back, or after the launch a stream does
// (buffer<T>::adopt). A launch that finds it not given back fails, unless the executable frees on
// launch (instantiate_options). A graph with such a node loses no nodes and no edges, has no
// clones, is no child but a moved one (add_moved_child), no body of a condition, and has one
// executable at a time.
class WEIR_EXPORT allocation_node : public detail::typed_node<node_kind::allocation> {
 public:
  using typed_node::typed_node;

  // cuGraphMemAllocNodeGetParams.
  [[nodiscard]] void* address(call_site at = call_site::current()) const;
  [[nodiscard]] std::size_t bytes(call_site at = call_site::current()) const;
  [[nodiscard]] weir::device device(call_site at = call_site::current()) const;

  // All of it, as elements: for parameters of nodes behind this one.
  template <class T>
  [[nodiscard]] std::span<T> memory(call_site at = call_site::current()) const {
    static_assert(std::is_trivially_copyable_v<T>);
    return {static_cast<T*>(address(at)), bytes(at) / sizeof(T)};
  }
};

// A node that frees, at each launch, memory that an allocation node of its graph, or of another
// one, has given.
class WEIR_EXPORT free_node : public detail::typed_node<node_kind::free> {
 public:
  using typed_node::typed_node;

  // cuGraphMemFreeNodeGetParams.
  [[nodiscard]] void* address(call_site at = call_site::current()) const;
};

// What an allocation node allocates. It cannot be changed later.
class WEIR_EXPORT allocation_parameters {
 public:
  using node_type = allocation_node;

  // `bytes` of a device's memory, for it and for the others named, which have to reach it
  // (device::can_access). None at all is refused by the driver (invalid_value).
  allocation_parameters(device gpu, std::size_t bytes, std::span<const device> accessible_from = {})
      : device_{gpu},
        bytes_{bytes},
        accessible_from_{accessible_from.begin(), accessible_from.end()} {}

  // For so many elements.
  template <class T>
  [[nodiscard]] static allocation_parameters of(device gpu, std::size_t count,
                                                std::span<const device> accessible_from = {}) {
    static_assert(std::is_trivially_copyable_v<T>);
    return {gpu, count * sizeof(T), accessible_from};
  }

 private:
  friend struct detail::node_access;
  [[nodiscard]] CUgraphNode_st* add_to(CUgraph_st* to, dependency_list after, call_site at) const;

  device device_;
  std::size_t bytes_;
  std::vector<device> accessible_from_;
};

// What a free node frees: memory of an allocation node, which it has to come after. It cannot be
// changed later.
class WEIR_EXPORT free_parameters {
 public:
  using node_type = free_node;

  // cuGraphMemAllocNodeGetParams.
  explicit free_parameters(allocation_node from, call_site at = call_site::current())
      : address_{from.address(at)} {}
  explicit free_parameters(void* address) noexcept : address_{address} {}

 private:
  friend struct detail::node_access;
  [[nodiscard]] CUgraphNode_st* add_to(CUgraph_st* to, dependency_list after, call_site at) const;

  void* address_;
};

// What the graphs that allocate hold on a device, in bytes: reserved there, and given out; now, and
// the most so far.
struct graph_memory_usage {
  unsigned long long used = 0;
  unsigned long long used_high = 0;
  unsigned long long reserved = 0;
  unsigned long long reserved_high = 0;
};

// cuDeviceGetGraphMemAttribute.
[[nodiscard]] WEIR_EXPORT graph_memory_usage graph_memory_of(device gpu,
                                                             call_site at = call_site::current());
// Brings the high marks down to zero; they count anew. cuDeviceSetGraphMemAttribute.
WEIR_EXPORT void reset_graph_memory_marks(device gpu, call_site at = call_site::current());
// Gives back to the device what is reserved and not in use. cuDeviceGraphMemTrim.
WEIR_EXPORT void trim_graph_memory(device gpu, call_site at = call_site::current());

}  // namespace weir
