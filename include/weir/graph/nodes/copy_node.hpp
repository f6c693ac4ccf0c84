// weir/graph/nodes/copy_node.hpp - nodes that copy memory: lines, rows, boxes.
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

namespace weir {

class copy_parameters;

// A node that copies between any two memories: what copy() becomes in a capture.
class WEIR_EXPORT copy_node : public detail::typed_node<node_kind::copy> {
 public:
  using typed_node::typed_node;

  // They have a share of the owners that the node was given: set again, or added elsewhere, they
  // keep those. Of a clone's node, whose graph keeps them to its end, they have none.
  // cuGraphMemcpyNodeGetParams.
  [[nodiscard]] copy_parameters parameters(call_site at = call_site::current()) const;
  // For executables made from now on; graph_exec::set() changes one that is there. Owners that the
  // old parameters brought along are kept no more by the graph. cuGraphMemcpyNodeGetParams,
  // cuGraphMemcpyNodeSetParams.
  void set(const copy_parameters& what, call_site at = call_site::current()) const;
};

// One side of a copy, as the driver has it.
struct copy_side {
  // The numbers are the driver's. Of unknown memory it is asked when the side is used.
  enum class memory : unsigned { unknown = 0, host = 1, device = 2, array = 3, unified = 4 };

  memory kind = memory::unknown;
  void* address = nullptr;      // where it begins; not of an array
  CUarray_st* array = nullptr;  // in place of an address
  std::size_t x = 0;            // where the box begins: bytes, rows and slices from there
  std::size_t y = 0;
  std::size_t z = 0;
  std::size_t pitch = 0;        // bytes from row to row; for one row without meaning
  std::size_t slice_rows = 0;   // rows from slice to slice; for one slice without meaning
  CUctx_st* context = nullptr;  // of device memory, where it is known

  friend bool operator==(const copy_side&, const copy_side&) = default;
};

// What such a node does. A plain value, complete: what is set is all of it. It has a share of the
// owners that it was given, and the graphs and executables that it is added to or set in have
// theirs, for as long as they may run it. In an executable a copy of one row may change its
// addresses and its size; of several rows nothing. Where it was added by hand, both sides stay
// memory of the same kind (host or device); where it was captured they need not. Each side stays on
// its device, and what is memory of a pool stays that, as does what a graph allocates. From device
// to device it is the target's that copies: the pool of a source on another one has to let it in
// (memory_pool_ref::set_access), else a driver refuses the node (invalid_value).
class WEIR_EXPORT copy_parameters {
 public:
  using node_type = copy_node;

  // All of `from` to the beginning of `to`: anything with data() and size() whose elements are of
  // one trivially copyable type, that the caller keeps until no launch uses it; or a temporary one,
  // or a shared_ptr to one, that is kept for him. Refused: closed memory (closed), more than fits
  // (invalid_value). None at all is taken here, and refused by the driver.
  template <detail::node_range From, detail::node_range To>
  copy_parameters(From&& from, To&& to, call_site at = call_site::current())
      : copy_parameters{detail::memory_of(std::forward<From>(from), at),
                        detail::memory_of(std::forward<To>(to), at), at} {
    expect_elements<detail::node_element<From>, detail::node_element<To>>();
  }

  // A box of elements to another one of the same size, else invalid_value.
  template <class T, class U>
  copy_parameters(pitched_span<T> from, pitched_span<U> to, call_site at = call_site::current())
      : copy_parameters{side_of(from), side_of(to), from.width() * sizeof(T), from.height(),
                        from.depth()} {
    expect_elements<T, U>();
    if (from.width() != to.width() || from.height() != to.height() || from.depth() != to.depth())
      throw_size_mismatch(at);
  }

  // Raw, arrays too.
  copy_parameters(const copy_side& from, const copy_side& to, std::size_t width_bytes,
                  std::size_t height = 1, std::size_t depth = 1) noexcept
      : from_{from}, to_{to}, width_bytes_{width_bytes}, height_{height}, depth_{depth} {}

  [[nodiscard]] const copy_side& from() const noexcept { return from_; }
  [[nodiscard]] const copy_side& to() const noexcept { return to_; }
  [[nodiscard]] std::size_t width_bytes() const noexcept { return width_bytes_; }
  [[nodiscard]] std::size_t height() const noexcept { return height_; }
  [[nodiscard]] std::size_t depth() const noexcept { return depth_; }

 private:
  friend class copy_node;
  friend struct detail::node_access;
  copy_parameters(detail::node_memory&& from, detail::node_memory&& to, call_site at);
  template <class T, class U>
  static constexpr void expect_elements() noexcept {
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
  [[nodiscard]] CUgraphNode_st* add_to(CUgraph_st* to, dependency_list after, call_site at) const;
  void set_on(graph_node node, call_site at) const;
  void set_in(CUgraphExec_st* exec, graph_node node, call_site at) const;
  [[nodiscard]] detail::owner_list owners() const noexcept { return {owners_, 2}; }

  copy_side from_;
  copy_side to_;
  std::size_t width_bytes_;
  std::size_t height_;
  std::size_t depth_;
  detail::keep_alive_ref owners_[2];
};

}  // namespace weir
