// weir/graph/nodes/event_nodes.hpp - nodes that record events and wait for them.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/keep_alive.hpp>
#include <weir/event/event.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/nodes/graph_node.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace weir {

class event_record_parameters;
class event_wait_parameters;

// A node that records an event at each launch: streams, the host and other graphs wait for it as
// for any record.
class WEIR_EXPORT event_record_node : public detail::typed_node<node_kind::event_record> {
 public:
  using typed_node::typed_node;

  // cuGraphEventRecordNodeGetEvent.
  [[nodiscard]] event_ref event(call_site at = call_site::current()) const;
  // With a share of the owner that the node was given, so that it is kept where they are set again.
  [[nodiscard]] event_record_parameters parameters(call_site at = call_site::current()) const;
  // For executables made from now on; graph_exec::set() changes one that is there.
  // cuGraphEventRecordNodeSetEvent.
  void set(const event_record_parameters& what, call_site at = call_site::current()) const;
};

// A node that waits, at each launch, for the record that the event has when the graph is launched;
// an event that was never recorded holds nothing.
class WEIR_EXPORT event_wait_node : public detail::typed_node<node_kind::event_wait> {
 public:
  using typed_node::typed_node;

  // cuGraphEventWaitNodeGetEvent.
  [[nodiscard]] event_ref event(call_site at = call_site::current()) const;
  // With a share of the owner that the node was given, so that it is kept where they are set again.
  [[nodiscard]] event_wait_parameters parameters(call_site at = call_site::current()) const;
  // For executables made from now on; graph_exec::set() changes one that is there.
  // cuGraphEventWaitNodeSetEvent.
  void set(const event_wait_parameters& what, call_site at = call_site::current()) const;
};

namespace detail {

template <class E>
concept event_like = std::convertible_to<const E&, event_ref>;

// What parameters of nodes take for an event: one that the caller keeps (a name, a reference); a
// temporary one, or a shared pointer to one, which the graph keeps.
template <class E>
concept node_event_argument = event_like<std::remove_cvref_t<E>> ||
    (shared_pointer<std::remove_cvref_t<E>>&& event_like<std::remove_cvref_t<range_named_by<E>>>);

class WEIR_EXPORT node_event {
 public:
  template <node_event_argument E>
  node_event(E&& e, call_site at) {
    using event_type = std::remove_cvref_t<E>;
    if constexpr (shared_pointer<event_type>) {
      if (!e) throw_null_pointer(at);
      auto* const owned_event = new keep_alive_box<event_type>{std::forward<E>(e)};
      owner_ = keep_alive_ref{*owned_event};
      set(*owned_event->held, at);
    } else if constexpr (std::is_lvalue_reference_v<E> ||
                         std::is_trivially_copyable_v<event_type>) {
      set(e, at);
    } else {
      auto* const owned_event = new keep_alive_box<event_type>{std::forward<E>(e)};
      owner_ = keep_alive_ref{*owned_event};
      set(owned_event->held, at);
    }
  }
  [[nodiscard]] event_ref get() const noexcept { return event_; }
  [[nodiscard]] owner_list owners() const noexcept { return {&owner_, 1}; }
  void share_owners_of(graph_node node) noexcept;

 private:
  void set(event_ref e, call_site at);  // refuses closed ones

  event_ref event_{static_cast<CUevent_st*>(nullptr)};
  keep_alive_ref owner_;
};

}  // namespace detail

// The event of such a node: an event, a timed_event or a reference to one, that the caller keeps
// until no launch uses it; or a temporary one, or a shared_ptr to one, that the graphs and
// executables keep that it is added to or set in. Closed ones are refused (closed).
class WEIR_EXPORT event_record_parameters {
 public:
  using node_type = event_record_node;

  template <detail::node_event_argument E>
  explicit event_record_parameters(E&& event, call_site at = call_site::current())
      : event_{std::forward<E>(event), at} {}

  [[nodiscard]] event_ref event() const noexcept { return event_.get(); }

 private:
  friend class event_record_node;
  friend struct detail::node_access;
  [[nodiscard]] CUgraphNode_st* add_to(CUgraph_st* to, dependency_list after, call_site at) const;
  void set_on(graph_node node, call_site at) const;
  void set_in(CUgraphExec_st* exec, graph_node node, call_site at) const;
  [[nodiscard]] detail::owner_list owners() const noexcept { return event_.owners(); }

  detail::node_event event_;
};

class WEIR_EXPORT event_wait_parameters {
 public:
  using node_type = event_wait_node;

  template <detail::node_event_argument E>
  explicit event_wait_parameters(E&& event, call_site at = call_site::current())
      : event_{std::forward<E>(event), at} {}

  [[nodiscard]] event_ref event() const noexcept { return event_.get(); }

 private:
  friend class event_wait_node;
  friend struct detail::node_access;
  [[nodiscard]] CUgraphNode_st* add_to(CUgraph_st* to, dependency_list after, call_site at) const;
  void set_on(graph_node node, call_site at) const;
  void set_in(CUgraphExec_st* exec, graph_node node, call_site at) const;
  [[nodiscard]] detail::owner_list owners() const noexcept { return event_.owners(); }

  detail::node_event event_;
};

}  // namespace weir
