// api/capture/capture_to.cpp - captures into graphs that are there.
#include <weir/capture/capture_to.hpp>

#include "api/capture/captures.hpp"

namespace weir {
namespace detail {

scoped_capture_to::scoped_capture_to(stream_ref stream, graph_ref into, graph* owner,
                                     frontier_list after, capture_options options, call_site at)
    : stream_{stream}, graph_{into}, owner_{owner}, at_{at} {
  capture_target target{into.get(), after, true};
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

// There is nothing for it to destroy. The body may have moved it elsewhere.
void scoped_capture_to::close_owner() noexcept {
  if (owner_ != nullptr && owner_->get() == graph_.get()) detach_graph(*owner_);
}

}  // namespace detail

void begin_capture_to(stream_ref stream, graph&& into, frontier_list after, capture_options options,
                      call_site at) {
  detail::capture_target target{into.get(), after, false, detail::instantiate_context_of(into)};
  try {
    static_cast<void>(detail::begin_active_capture(stream, options, false, at, &target));
  } catch (...) {
    if (target.is_destroyed) detail::detach_graph(into);
    throw;
  }
  detail::detach_graph(into);
}

void begin_capture_to(stream_ref stream, graph_ref into, frontier_list after,
                      capture_options options, call_site at) {
  detail::capture_target target{into.get(), after, true};
  static_cast<void>(detail::begin_active_capture(stream, options, false, at, &target));
}

graph_ref end_capture_to(stream_ref stream, call_site at) {
  bool is_destroyed = false;
  return graph_ref{detail::end_borrowed_capture(stream, 0, is_destroyed, at).graph};
}

}  // namespace weir
