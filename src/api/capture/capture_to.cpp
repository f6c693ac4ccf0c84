// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_to.cpp - captures into existing graphs.
#include <weir/capture/capture_to.hpp>

#include "api/capture/capture_abandon.hpp"
#include "api/capture/capture_begin.hpp"
#include "api/capture/capture_end.hpp"

namespace weir {
namespace detail {

scoped_capture_to::scoped_capture_to(stream_ref stream, graph_ref target_graph, graph* owner,
                                     frontier_list dependencies, capture_options options,
                                     call_site at)
    : stream_{stream}, graph_{target_graph}, owner_{owner}, at_{at} {
  capture_target target{target_graph.get(), dependencies, true};
  try {
    id_ = begin_active_capture(stream, options, true, at, &target).id;
  } catch (...) {
    if (target.is_destroyed) close_owner();
    throw;
  }
}

scoped_capture_to::~scoped_capture_to() {
  if (open_ && abandon_capture(stream_, id_)) close_owner();
}

void scoped_capture_to::finish() {
  bool is_destroyed = false;
  try {
    static_cast<void>(end_borrowed_capture(stream_, id_, is_destroyed, at_));
  } catch (...) {
    if (is_destroyed) close_owner();
    throw;
  }
  open_ = false;
}

// Closes the owner, because the driver has destroyed the graph. Does nothing if the body has moved
// the graph to another owner.
void scoped_capture_to::close_owner() noexcept {
  if (owner_ != nullptr && owner_->get() == graph_.get()) detach_graph(*owner_);
}

}  // namespace detail

void begin_capture_to(stream_ref stream, graph&& target_graph, frontier_list dependencies,
                      capture_options options, call_site at) {
  detail::capture_target target{target_graph.get(), dependencies, false,
                                detail::instantiate_context_of(target_graph)};
  try {
    static_cast<void>(detail::begin_active_capture(stream, options, false, at, &target));
  } catch (...) {
    if (target.is_destroyed) detail::detach_graph(target_graph);
    throw;
  }
  detail::detach_graph(target_graph);
}

void begin_capture_to(stream_ref stream, graph_ref target_graph, frontier_list dependencies,
                      capture_options options, call_site at) {
  detail::capture_target target{target_graph.get(), dependencies, true};
  static_cast<void>(detail::begin_active_capture(stream, options, false, at, &target));
}

graph_ref end_capture_to(stream_ref stream, call_site at) {
  bool is_destroyed = false;
  return graph_ref{detail::end_borrowed_capture(stream, 0, is_destroyed, at).graph};
}

}  // namespace weir
