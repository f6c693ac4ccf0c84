// SPDX-License-Identifier: Apache-2.0
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

namespace detail {

template <class E>
concept event_like = std::convertible_to<const E&, event_ref>;

/// An event argument of node parameters: an lvalue or an event_ref, whose event the caller keeps
/// alive, or a temporary owner or a shared pointer, which the graph keeps.
template <class E>
concept node_event_argument = event_like<std::remove_cvref_t<E>> ||
    (shared_pointer<std::remove_cvref_t<E>>&& event_like<std::remove_cvref_t<range_named_by<E>>>);

/// The event of a node, and the event's owner if the parameters keep it.
class WEIR_EXPORT node_event {
 public:
  template <node_event_argument E>
  node_event(E&& e, call_site at) {
    using event_type = std::remove_cvref_t<E>;
    if constexpr (shared_pointer<event_type>) {
      if (!e) throw_null_pointer(at);
      auto* const owned_event = new keep_alive_box<event_type>{std::forward<E>(e)};
      owner_ = keep_alive_ref{*owned_event};
      set(*owned_event->value, at);
    } else if constexpr (std::is_lvalue_reference_v<E> ||
                         std::is_trivially_copyable_v<event_type>) {
      set(e, at);
    } else {
      auto* const owned_event = new keep_alive_box<event_type>{std::forward<E>(e)};
      owner_ = keep_alive_ref{*owned_event};
      set(owned_event->value, at);
    }
  }
  [[nodiscard]] event_ref get() const noexcept { return event_; }
  [[nodiscard]] owner_list owners() const noexcept { return {&owner_, 1}; }
  /// Takes over references to the owners that the graph keeps for `node`.
  void share_owners_of(graph_node node) noexcept;

 private:
  void set(event_ref e, call_site at);  ///< throws closed for a closed event

  event_ref event_{static_cast<CUevent_st*>(nullptr)};
  keep_alive_ref owner_;  ///< empty if the caller keeps the event
};

template <node_kind Kind>
class event_parameters;

/// A node that records an event or waits for one.
template <node_kind Kind>
class WEIR_EXPORT event_node : public settable_node<Kind, event_parameters<Kind>> {
 public:
  using settable_node<Kind, event_parameters<Kind>>::settable_node;

  /// Returns the event of the node.
  ///
  /// Driver: cuGraphEventRecordNodeGetEvent or cuGraphEventWaitNodeGetEvent.
  [[nodiscard]] event_ref event(call_site at = call_site::current()) const;
  /// Returns the parameters of the node. They share the owner of the event. Another graph or
  /// executable to which the parameters are added or set keeps the owner, too.
  ///
  /// Driver: as event().
  [[nodiscard]] event_parameters<Kind> parameters(call_site at = call_site::current()) const;
};

/// The type of event_record_parameters and event_wait_parameters.
template <node_kind Kind>
class WEIR_EXPORT event_parameters {
 public:
  using node_type = event_node<Kind>;

  /// Describes a node that records `event` or waits for it.
  ///
  /// Throws: `closed` for a closed event; `invalid_value` for a null shared_ptr.
  template <node_event_argument E>
  explicit event_parameters(E&& event, call_site at = call_site::current())
      : event_{std::forward<E>(event), at} {}

  /// Returns the event.
  [[nodiscard]] event_ref event() const noexcept { return event_.get(); }

 private:
  friend class event_node<Kind>;
  friend struct node_access;
  [[nodiscard]] CUgraphNode_st* add_to(insertion_point point, call_site at) const;
  void set_in_graph(graph_node node, call_site at) const;
  void set_in_exec(CUgraphExec_st* exec, graph_node node, call_site at) const;
  [[nodiscard]] owner_list owners() const noexcept { return event_.owners(); }

  node_event event_;
};

extern template class event_node<node_kind::event_record>;
extern template class event_node<node_kind::event_wait>;
extern template class event_parameters<node_kind::event_record>;
extern template class event_parameters<node_kind::event_wait>;

}  // namespace detail

/// A node that records an event in each launch. Streams, the host and other graphs wait for it like
/// for any record.
using event_record_node = detail::event_node<node_kind::event_record>;
/// A node that waits in each launch for the record that the event has when the graph is launched.
/// An event that was never recorded does not delay the node.
using event_wait_node = detail::event_node<node_kind::event_wait>;

/// Describes a node that records an event.
///
/// The event is an event, a timed_event or a reference to one. The caller must keep an lvalue until
/// no launch uses it. A temporary, or a shared_ptr to an event, is kept by the graphs and
/// executables to which the parameters are added or set.
using event_record_parameters = detail::event_parameters<node_kind::event_record>;
/// Describes a node that waits for an event. The event is owned as in event_record_parameters.
using event_wait_parameters = detail::event_parameters<node_kind::event_wait>;

}  // namespace weir
