// SPDX-License-Identifier: Apache-2.0
// api/capture/capture.cpp - scoped captures, begin_capture() and end_capture(), and capture
// queries.
#include <weir/capture/capture.hpp>
#include <weir/device/context.hpp>

#include "api/capture/capture_abandon.hpp"
#include "api/capture/capture_begin.hpp"
#include "api/capture/capture_checks.hpp"
#include "api/capture/capture_end.hpp"
#include "api/capture/capture_query.hpp"
#include "api/graph/node_metadata.hpp"

namespace weir {

using detail::check;
using detail::driver;
using detail::require_open;

namespace detail {

namespace {

graph adopt_ended(const ended_capture& ended, call_site at) {
  return graph::adopt(ended.graph, context_ref{ended.instantiate_context}, at);
}

}  // namespace

scoped_capture::scoped_capture(const active_capture& begun) noexcept
    : stream_{begun.origin}, graph_{begun.graph}, id_{begun.id}, at_{begun.begun_at} {}

scoped_capture::scoped_capture(stream_ref stream, capture_options options, call_site at)
    : scoped_capture{begin_active_capture(stream, options, capture_end::by_scope, at)} {}

scoped_capture::~scoped_capture() {
  if (open_) abandon_capture(stream_, id_);
}

graph scoped_capture::finish() {
  const ended_capture ended = end_active_capture({stream_, graph_ownership::owned, id_, at_});
  open_ = false;
  return adopt_ended(ended, at_);
}

}  // namespace detail

void begin_capture(stream_ref stream, capture_options options, call_site at) {
  detail::begin_active_capture(stream, options, detail::capture_end::by_call, at);
}

graph end_capture(stream_ref stream, call_site at) {
  return detail::adopt_ended(
      detail::end_active_capture({stream, detail::graph_ownership::owned, 0, at}), at);
}

capture_status capture_status_of(stream_ref stream, call_site at) {
  CUstream_st* const handle = require_open(stream, "cuStreamIsCapturing", at);
  return static_cast<capture_status>(detail::query_capture_status(handle, at));
}

capture_info capture_info_of(stream_ref stream, call_site at) {
  const detail::stream_capture_info driver_info =
      detail::query_capture(require_open(stream, "cuStreamGetCaptureInfo", at), at);
  capture_info info;
  info.status = static_cast<capture_status>(driver_info.status);
  if (driver_info.status != abi::CU_STREAM_CAPTURE_STATUS_ACTIVE) return info;
  info.id = driver_info.id;
  info.graph = graph_ref{driver_info.graph};
  info.frontier.reserve(driver_info.count);
  for (std::size_t i = 0; i < driver_info.count; ++i) {
    edge_data data;
    if (driver_info.edges != nullptr)
      data = {driver_info.edges[i].from_port, driver_info.edges[i].to_port,
              driver_info.edges[i].type};
    info.frontier.push_back({graph_node{driver_info.nodes[i], driver_info.graph}, data});
  }
  detail::note_nodes(driver_info.graph, {driver_info.nodes, driver_info.count});
  return info;
}

thread_capture_mode::thread_capture_mode(capture_mode mode, call_site at) : previous_{mode} {
  constexpr const char* call = "cuThreadExchangeStreamCaptureMode";
  detail::require_outside_host_function(call, {}, at);
  detail::require_valid_mode(mode, call, {}, at);
  auto exchanged = static_cast<abi::CUstreamCaptureMode>(mode);
  check(driver(at).cuThreadExchangeStreamCaptureMode(&exchanged), call, {}, at);
  previous_ = static_cast<capture_mode>(exchanged);
}

thread_capture_mode::~thread_capture_mode() {
  auto mode = static_cast<abi::CUstreamCaptureMode>(previous_);
  detail::report_if_failed(driver().cuThreadExchangeStreamCaptureMode(&mode),
                           "cuThreadExchangeStreamCaptureMode", {});
}

}  // namespace weir
