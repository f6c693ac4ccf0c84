// weir/graph/nodes/fill_node.hpp - nodes that set memory to one value.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/keep_alive.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/nodes/graph_node.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pitched_span.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace weir {

class fill_parameters;

// A node that sets every element of some memory to one value: what fill() becomes in a capture.
class WEIR_EXPORT fill_node : public detail::typed_node<node_kind::fill> {
 public:
  using typed_node::typed_node;

  // They have a share of the owners that the node was given: set again, or added elsewhere, they
  // keep those. Of a clone's node, whose graph keeps them to its end, they have none.
  // cuGraphMemsetNodeGetParams.
  [[nodiscard]] fill_parameters parameters(call_site at = call_site::current()) const;
  // For executables made from now on; graph_exec::set() changes one that is there. Owners that the
  // old parameters brought along are kept no more by the graph. cuGraphMemsetNodeSetParams.
  void set(const fill_parameters& what, call_site at = call_site::current()) const;
};

// What such a node does. A plain value, complete: what is set is all of it. It has a share of the
// owners that it was given, and the graphs and executables that it is added to or set in have
// theirs, for as long as they may run it. In an executable value and address may change to other
// memory; of a fill of several rows nothing else.
class WEIR_EXPORT fill_parameters {
 public:
  using node_type = fill_node;

  // Every element of `to`, which is memory that a device reaches, of elements of 1, 2 or 4 bytes: a
  // buffer, a pinned_buffer or a std::span that the caller keeps until no launch uses it; or a
  // temporary one, or a shared_ptr to one, that is kept for him. Closed memory is refused (closed).
  // None at all is taken here, and refused by the driver.
  template <detail::node_range To>
  fill_parameters(To&& to, const std::type_identity_t<detail::node_element<To>>& value,
                  call_site at = call_site::current())
      : memory_{detail::memory_of(std::forward<To>(to), at)},
        value_{detail::bits_of(value)},
        element_bytes_{element_size<detail::node_element<To>>()},
        width_{memory_.bytes / element_bytes_},
        height_{1} {}

  // The elements of some rows, and nothing between them. Of several slices: that follow each other
  // without rows between them, else invalid_value.
  template <class T>
  fill_parameters(pitched_span<T> to, const std::type_identity_t<T>& value,
                  call_site at = call_site::current())
      : fill_parameters{to.data(),  detail::bits_of(value), element_size<T>(),
                        to.width(), rows_of(to, at),        to.pitch()} {}

  // Raw: `width` elements of `element_bytes` in each of `height` rows, `pitch` bytes from one to
  // the next.
  fill_parameters(void* address, std::uint32_t value, std::size_t element_bytes, std::size_t width,
                  std::size_t height = 1, std::size_t pitch = 0) noexcept
      : value_{value},
        element_bytes_{element_bytes},
        width_{width},
        height_{height},
        pitch_{pitch} {
    memory_.address = address;
  }

  [[nodiscard]] void* address() const noexcept { return memory_.address; }
  [[nodiscard]] std::uint32_t value() const noexcept {
    return value_;
  }  // its bits, in the lowest bytes
  [[nodiscard]] std::size_t element_bytes() const noexcept { return element_bytes_; }
  [[nodiscard]] std::size_t width() const noexcept { return width_; }    // elements in a row
  [[nodiscard]] std::size_t height() const noexcept { return height_; }  // rows
  [[nodiscard]] std::size_t pitch() const noexcept {
    return pitch_;
  }  // bytes from row to row; for one row without meaning

 private:
  friend class fill_node;
  friend struct detail::node_access;
  template <class T>
  [[nodiscard]] static constexpr std::size_t element_size() noexcept {
    static_assert(!std::is_const_v<T> && std::is_trivially_copyable_v<T>);
    static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4,
                  "a device sets values of 1, 2 or 4 bytes");
    return sizeof(T);
  }
  template <class T>
  [[nodiscard]] static std::size_t rows_of(pitched_span<T> box, call_site at) {
    if (box.depth() != 1 && box.slice_rows() != box.height()) throw_slices_not_supported(at);
    return box.height() * box.depth();
  }
  [[noreturn]] static void throw_slices_not_supported(call_site at);
  [[nodiscard]] CUgraphNode_st* add_to(CUgraph_st* to, dependency_list after, call_site at) const;
  void set_on(graph_node node, call_site at) const;
  void set_in(CUgraphExec_st* exec, graph_node node, call_site at) const;
  [[nodiscard]] detail::owner_list owners() const noexcept { return {&memory_.owner, 1}; }

  detail::node_memory memory_;
  std::uint32_t value_;
  std::size_t element_bytes_;
  std::size_t width_;
  std::size_t height_;
  std::size_t pitch_ = 0;
};

}  // namespace weir
