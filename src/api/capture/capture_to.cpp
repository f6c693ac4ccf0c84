// api/capture/capture_to.cpp - captures into graphs that are there.
#include <weir/capture/capture_to.hpp>

#include "api/capture/captures.hpp"

namespace weir {
namespace detail {

scoped_capture_to::scoped_capture_to(stream_ref stream, graph_ref into, graph* owner, frontier_list after,
                                     capture_options options, call_site at)
    : stream_{stream}, graph_{into}, owner_{owner}, at_{at} {
  capture_target target{into.get(), after, true};
  try {
    id_ = begin_open_capture(stream, options, true, at, &target).id;
  } catch (...) {
    if (target.is_gone) close_owner();
    throw;
  }
}

scoped_capture_to::~scoped_capture_to() {
  if (open_ && abandon_open_capture(stream_, id_)) close_owner();
}

void scoped_capture_to::finish() {
  bool is_gone = false;
  try {
    static_cast<void>(end_given_capture(stream_, id_, is_gone, at_));
  } catch (...) {
    if (is_gone) close_owner();
    throw;
  }
  open_ = false;
}

// There is nothing for it to destroy. The body may have moved it elsewhere.
void scoped_capture_to::close_owner() noexcept {
  if (owner_ != nullptr && owner_->get() == graph_.get()) take_out_of(*owner_);
}

}  // namespace detail

void begin_capture_to(stream_ref stream, graph&& into, frontier_list after, capture_options options, call_site at) {
  detail::capture_target target{into.get(), after, false, detail::home_of(into)};
  try {
    static_cast<void>(detail::begin_open_capture(stream, options, false, at, &target));
  } catch (...) {
    if (target.is_gone) detail::take_out_of(into);
    throw;
  }
  detail::take_out_of(into);
}

void begin_capture_to(stream_ref stream, graph_ref into, frontier_list after, capture_options options, call_site at) {
  detail::capture_target target{into.get(), after, true};
  static_cast<void>(detail::begin_open_capture(stream, options, false, at, &target));
}

graph_ref end_capture_to(stream_ref stream, call_site at) {
  bool is_gone = false;
  return graph_ref{detail::end_given_capture(stream, 0, is_gone, at).graph};
}

}  // namespace weir
