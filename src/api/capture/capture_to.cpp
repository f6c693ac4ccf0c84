// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_to.cpp - captures into existing graphs.
#include <weir/capture/capture_to.hpp>

#include "api/capture/capture_begin.hpp"
#include "api/capture/capture_end.hpp"

namespace weir {
namespace detail {
namespace {

active_capture begin_into_borrowed(stream_ref stream, graph_ref target_graph, graph* owner,
                                   frontier_list dependencies, capture_options options,
                                   capture_end end, call_site at) {
  const capture_target target{target_graph.get(), dependencies, graph_ownership::borrowed, owner};
  return begin_active_capture(stream, options, end, at, &target);
}

}  // namespace

scoped_capture_to::scoped_capture_to(stream_ref stream, graph_ref target_graph, graph* owner,
                                     frontier_list dependencies, capture_options options,
                                     call_site at)
    : scoped_capture{begin_into_borrowed(stream, target_graph, owner, dependencies, options,
                                         capture_end::by_scope, at)} {}

void scoped_capture_to::finish() {
  end_active_capture({stream_, graph_ownership::borrowed, id_, at_});
  open_ = false;
}

}  // namespace detail

void begin_capture_to(stream_ref stream, graph&& target_graph, frontier_list dependencies,
                      capture_options options, call_site at) {
  const detail::capture_target target{target_graph.get(), dependencies,
                                      detail::graph_ownership::owned, &target_graph};
  detail::begin_active_capture(stream, options, detail::capture_end::by_call, at, &target);
  detail::detach_graph(target_graph);
}

void begin_capture_to(stream_ref stream, graph_ref target_graph, frontier_list dependencies,
                      capture_options options, call_site at) {
  detail::begin_into_borrowed(stream, target_graph, nullptr, dependencies, options,
                              detail::capture_end::by_call, at);
}

graph_ref end_capture_to(stream_ref stream, call_site at) {
  return graph_ref{
      detail::end_active_capture({stream, detail::graph_ownership::borrowed, 0, at}).graph};
}

}  // namespace weir
