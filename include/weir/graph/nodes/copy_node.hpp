// SPDX-License-Identifier: Apache-2.0
// weir/graph/nodes/copy_node.hpp - nodes that copy memory: one row, several rows, or boxes.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/keep_alive.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/nodes/graph_node.hpp>
#include <weir/memory/pitched_span.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir {

class copy_parameters;

/// A node that copies between any two memories. copy() becomes such a node in a capture.
class WEIR_EXPORT copy_node : public detail::settable_node<node_kind::copy, copy_parameters> {
 public:
  using settable_node::settable_node;

  /// Returns the parameters of the node. They share the owners of the node. Another graph or
  /// executable to which the parameters are added or set keeps these owners, too. The parameters of
  /// a node of a clone have no owners; the clone keeps the owners until it is destroyed.
  ///
  /// Driver: cuGraphMemcpyNodeGetParams.
  [[nodiscard]] copy_parameters parameters(call_site at = call_site::current()) const;
};

/// The source or the target of a copy, as the driver describes it.
struct copy_side {
  /// The kind of memory. The values are those of the driver (CUmemorytype). If the kind is
  /// `unknown`, weir queries the driver when a node is added or set.
  enum class memory : unsigned { unknown = 0, host = 1, device = 2, array = 3, unified = 4 };

  memory kind = memory::unknown;
  void* address = nullptr;      ///< where the memory begins; unused for an array
  CUarray_st* array = nullptr;  ///< the array, if `kind` is array
  std::size_t x = 0;            ///< where the box begins in its row, in bytes
  std::size_t y = 0;            ///< the row in which the box begins
  std::size_t z = 0;            ///< the slice in which the box begins
  std::size_t pitch = 0;        ///< bytes from row to row; unused for a single row
  std::size_t slice_rows = 0;   ///< rows from slice to slice; unused for a single slice
  CUctx_st* context = nullptr;  ///< the context of device memory; null if not known

  friend bool operator==(const copy_side&, const copy_side&) = default;
};

/// The parameters of a copy node, as a plain value. Setting them replaces all parameters of the
/// node.
///
/// Copies of the parameters share their owners. Graphs and executables to which they are added or
/// set keep these owners while they may run the copy.
/// graph_exec::set() can change only the addresses and the size of a one-row copy. For a node added
/// by hand, each side must keep its kind of memory (host or device); for a captured node the kind
/// may change. Each side must stay on its device. Memory of a pool can be replaced only by memory
/// of a pool, and memory that a graph allocated only by memory that a graph allocated.
/// A copy between devices runs on the device of the target. If the source is in a pool of another
/// device, that pool must give the target's device access (memory_pool_ref::set_access). Otherwise
/// the driver refuses the node (`invalid_value`).
class WEIR_EXPORT copy_parameters {
 public:
  using node_type = copy_node;

  /// Copies all of `source` to the beginning of `target`. Both are types with data() and size()
  /// whose elements have one trivially copyable type. The caller must keep an lvalue until no
  /// launch uses it. The parameters keep a temporary, or a shared_ptr to a range. The driver
  /// refuses a copy of zero elements.
  ///
  /// Throws: `closed` for closed memory; `invalid_value` if `source` is longer than `target`.
  template <detail::node_range Source, detail::node_range Target>
  copy_parameters(Source&& source, Target&& target, call_site at = call_site::current())
      : copy_parameters{detail::memory_of(std::forward<Source>(source), at),
                        detail::memory_of(std::forward<Target>(target), at), at} {
    require_equal_elements<detail::node_element<Source>, detail::node_element<Target>>();
  }

  /// Copies a box of elements to a box of equal size.
  ///
  /// Throws: `invalid_value` if the sizes differ.
  template <class T, class U>
  copy_parameters(pitched_span<T> source, pitched_span<U> target,
                  call_site at = call_site::current())
      : copy_parameters{side_of(source), side_of(target), source.width() * sizeof(T),
                        source.height(), source.depth()} {
    require_equal_elements<T, U>();
    if (source.width() != target.width() || source.height() != target.height() ||
        source.depth() != target.depth())
      throw_size_mismatch(at);
  }

  /// Copies a box between two sides in the driver's form, which may be arrays. The box has `depth`
  /// slices of `height` rows of `width_bytes` bytes.
  copy_parameters(const copy_side& source, const copy_side& target, std::size_t width_bytes,
                  std::size_t height = 1, std::size_t depth = 1) noexcept
      : source_{source},
        target_{target},
        width_bytes_{width_bytes},
        height_{height},
        depth_{depth} {}

  /// Returns the source.
  [[nodiscard]] const copy_side& source() const noexcept { return source_; }
  /// Returns the target.
  [[nodiscard]] const copy_side& target() const noexcept { return target_; }
  /// Returns the size of a row in bytes.
  [[nodiscard]] std::size_t width_bytes() const noexcept { return width_bytes_; }
  /// Returns the number of rows.
  [[nodiscard]] std::size_t height() const noexcept { return height_; }
  /// Returns the number of slices.
  [[nodiscard]] std::size_t depth() const noexcept { return depth_; }

 private:
  friend class copy_node;
  friend struct detail::node_access;
  copy_parameters(detail::node_memory&& source, detail::node_memory&& target, call_site at);
  template <class T, class U>
  static constexpr void require_equal_elements() noexcept {
    static_assert(std::same_as<std::remove_const_t<T>, U>,
                  "elements of one type, and the target's are not const");
    static_assert(std::is_trivially_copyable_v<U>);
  }
  template <class T>
  [[nodiscard]] static copy_side side_of(pitched_span<T> box) noexcept {
    copy_side side;
    side.address = const_cast<std::remove_const_t<T>*>(box.data());
    side.pitch = box.pitch();
    side.slice_rows = box.slice_rows();
    return side;
  }
  [[noreturn]] static void throw_size_mismatch(call_site at);
  [[nodiscard]] CUgraphNode_st* add_to(detail::insertion_point point, call_site at) const;
  void set_in_graph(graph_node node, call_site at) const;
  void set_in_exec(CUgraphExec_st* exec, graph_node node, call_site at) const;
  [[nodiscard]] detail::owner_list owners() const noexcept { return {owners_, 2}; }
  [[nodiscard]] std::vector<detail::region> memory() const;

  copy_side source_;
  copy_side target_;
  std::size_t width_bytes_;
  std::size_t height_;
  std::size_t depth_;
  detail::keep_alive_ref owners_[2];  ///< of the source and the target; may be empty
};

}  // namespace weir
