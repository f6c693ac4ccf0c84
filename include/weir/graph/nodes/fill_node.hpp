// SPDX-License-Identifier: Apache-2.0
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
#include <vector>

namespace weir {

class fill_parameters;

/// A node that sets every element of a memory range to one value. fill() becomes such a node in a
/// capture.
class WEIR_EXPORT fill_node : public detail::settable_node<node_kind::fill, fill_parameters> {
 public:
  using settable_node::settable_node;

  /// Returns the parameters of the node. They share the owners of the node. Another graph or
  /// executable to which the parameters are added or set keeps these owners, too. The parameters of
  /// a node of a clone have no owners; the clone keeps the owners until it is destroyed.
  ///
  /// Driver: cuGraphMemsetNodeGetParams.
  [[nodiscard]] fill_parameters parameters(call_site at = call_site::current()) const;
};

/// The parameters of a fill node, as a plain value. Setting them replaces all parameters of the
/// node.
///
/// Copies of the parameters share their owners. Graphs and executables to which they are added or
/// set keep these owners while they may run the fill. graph_exec::set() can change the value and
/// the address, and for a one-row fill also the size.
class WEIR_EXPORT fill_parameters {
 public:
  using node_type = fill_node;

  /// Sets every element of `target`, device-accessible memory with elements of 1, 2 or 4 bytes: a
  /// buffer, a pinned_buffer or a std::span.
  /// The caller must keep an lvalue until no launch uses it. The parameters keep a temporary, or a
  /// shared_ptr to a range. The driver refuses a fill of zero elements.
  ///
  /// Throws: `closed` for closed memory.
  template <detail::node_range Target>
  fill_parameters(Target&& target, const std::type_identity_t<detail::node_element<Target>>& value,
                  call_site at = call_site::current())
      : memory_{detail::memory_of(std::forward<Target>(target), at)},
        value_{detail::bits_of(value)},
        element_bytes_{element_size<detail::node_element<Target>>()},
        width_{memory_.bytes / element_bytes_},
        height_{1} {}

  /// Sets the elements of several rows, but not the memory between the rows. If there are several
  /// slices, no other rows may lie between them.
  ///
  /// Throws: `invalid_value` for slices with rows between them.
  template <class T>
  fill_parameters(pitched_span<T> target, const std::type_identity_t<T>& value,
                  call_site at = call_site::current())
      : fill_parameters{target.data(),  detail::bits_of(value), element_size<T>(),
                        target.width(), rows_of(target, at),    target.pitch()} {}

  /// Sets `width` elements of `element_bytes` bytes in each of `height` rows. `value` has the bits
  /// of an element in its lowest bytes. Rows begin `pitch` bytes apart; `pitch` is unused for a
  /// single row.
  fill_parameters(void* address, std::uint32_t value, std::size_t element_bytes, std::size_t width,
                  std::size_t height = 1, std::size_t pitch = 0) noexcept
      : value_{value},
        element_bytes_{element_bytes},
        width_{width},
        height_{height},
        pitch_{pitch} {
    memory_.address = address;
  }

  /// Returns the address of the first element.
  [[nodiscard]] void* address() const noexcept { return memory_.address; }
  /// Returns the bits of the value, in the lowest element_bytes() bytes of the result.
  [[nodiscard]] std::uint32_t value() const noexcept { return value_; }
  /// Returns the size of an element: 1, 2 or 4 bytes.
  [[nodiscard]] std::size_t element_bytes() const noexcept { return element_bytes_; }
  /// Returns the number of elements in a row.
  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  /// Returns the number of rows.
  [[nodiscard]] std::size_t height() const noexcept { return height_; }
  /// Returns the distance in bytes between the beginnings of two rows; unused for a single row.
  [[nodiscard]] std::size_t pitch() const noexcept { return pitch_; }

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
  [[nodiscard]] CUgraphNode_st* add_to(detail::insertion_point point, call_site at) const;
  void set_in_graph(graph_node node, call_site at) const;
  void set_in_exec(CUgraphExec_st* exec, graph_node node, call_site at) const;
  [[nodiscard]] detail::owner_list owners() const noexcept { return {&memory_.owner, 1}; }
  [[nodiscard]] std::vector<detail::region> memory() const;

  detail::node_memory memory_;
  std::uint32_t value_;
  std::size_t element_bytes_;
  std::size_t width_;
  std::size_t height_;
  std::size_t pitch_ = 0;
};

}  // namespace weir
