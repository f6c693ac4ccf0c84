// SPDX-License-Identifier: Apache-2.0
// graphs/model_capture.cpp - captures from beginning to end (rules 8 to 11).
#include "graphs/model.hpp"

#include <algorithm>
#include <set>

namespace weir::graphs {

bool model::blocking_stream_captures() {
  return std::ranges::any_of(streams, [](const stream_state& s) {
    return s.is_alive && s.capture >= 0 &&
           (s.kind == stream_kind::blocking || s.kind == stream_kind::per_thread);
  });
}

// Rule 10.6: while a blocking stream captures, any use of the legacy stream invalidates its
// capture.
CUresult model::use(object_id s) {
  if (stream(s).kind != stream_kind::legacy || !blocking_stream_captures()) return CUDA_SUCCESS;
  for (const stream_state& other : streams) {
    if (other.is_alive && other.capture >= 0 && other.kind != stream_kind::non_blocking)
      capture(other.capture).valid = false;
  }
  return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

expected_result model::begin(unsigned thread, object_id s, CUstreamCaptureMode mode) {
  if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult refused = use(s); refused != CUDA_SUCCESS) return refused;
  if (stream(s).kind == stream_kind::legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream(s).capture >= 0) return CUDA_ERROR_ILLEGAL_STATE;
  const object_id g = make_graph();
  const auto made = static_cast<object_id>(captures.size());
  captures.push_back(
      {.origin = s, .graph = g, .thread = thread, .mode = mode, .to_existing_graph = false});
  captures.back().frontiers[s] = {};
  graph(g).capture = made;
  stream(s).capture = made;
  return CUDA_SUCCESS;
}

expected_result model::begin_to(unsigned thread, object_id s, object_id g,
                                std::span<const object_id> behind, CUstreamCaptureMode mode) {
  if (const CUresult refused = use(s); refused != CUDA_SUCCESS) return refused;
  if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  if (stream(s).kind == stream_kind::legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream(s).capture >= 0) return CUDA_ERROR_ILLEGAL_STATE;
  if (std::ranges::any_of(behind, [&](object_id n) { return node(n).graph != g; }))
    return CUDA_ERROR_INVALID_VALUE;
  if (graph(g).capture >= 0) return CUDA_ERROR_ILLEGAL_STATE;
  const auto made = static_cast<object_id>(captures.size());
  captures.push_back(
      {.origin = s, .graph = g, .thread = thread, .mode = mode, .to_existing_graph = true});
  captures.back().frontiers[s] = {behind.begin(), behind.end()};
  graph(g).capture = made;
  stream(s).capture = made;
  return CUDA_SUCCESS;
}

// Rules 9.3, 24.12: each stream's unjoined work must lead to another node, or to the origin
// stream's frontier, at least once.
bool model::joined(const capture_state& c) {
  std::set<object_id> lead_on = c.dropped_by_origin;
  for (const object_id n : graph(c.graph).nodes)
    lead_on.insert(node(n).before.begin(), node(n).before.end());
  const std::vector<object_id>& first = c.frontiers.at(c.origin);
  lead_on.insert(first.begin(), first.end());
  return std::ranges::all_of(c.unjoined, [&](const auto& of) {
    return of.first == c.origin ||
           std::ranges::all_of(of.second, [&](object_id n) { return lead_on.contains(n); });
  });
}

// All streams leave the capture. A graph that is not returned is destroyed, also an existing one
// that was captured into.
void model::close(capture_state& c, bool keep) {
  c.open = c.valid = false;
  for (const auto& [s, frontier] : c.frontiers) {
    if (stream(s).is_alive) stream(s).capture = -1;
  }
  graph(c.graph).capture = -1;
  if (!keep) end_graph(c.graph);
}

expected_result model::end(unsigned thread, object_id s, bool wanted, object_id& made) {
  if (const CUresult refused = use(s); refused != CUDA_SUCCESS) return refused;
  capture_state* const c = capture_of(s);
  if (c == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (c->origin != s) {
    c->valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  CUresult code = CUDA_SUCCESS;
  if (!c->valid)
    code = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  else if (!joined(*c))
    code = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  else if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && c->thread != thread)
    code = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  const bool keep = code == CUDA_SUCCESS && wanted;
  if (keep) made = c->graph;
  close(*c, keep);
  return code;
}

// Rule 8.8: querying the legacy stream invalidates nothing.
expected_result model::query_status(object_id s, CUstreamCaptureStatus& status) {
  if (stream(s).kind == stream_kind::legacy && blocking_stream_captures())
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  const capture_state* const c = capture_of(s);
  status = c == nullptr ? CU_STREAM_CAPTURE_STATUS_NONE
           : c->valid   ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                        : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  return CUDA_SUCCESS;
}

expected_result model::update_frontier(object_id s, std::span<const object_id> behind,
                                       unsigned flags) {
  if (const CUresult refused = use(s); refused != CUDA_SUCCESS) return refused;
  capture_state* const c = capture_of(s);
  if (c == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (!c->valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES) return CUDA_ERROR_INVALID_VALUE;
  if (std::ranges::any_of(behind, [&](object_id n) { return node(n).graph != c->graph; }))
    return CUDA_ERROR_INVALID_VALUE;
  std::vector<object_id>& frontier = c->frontiers[s];
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
    if (s == c->origin) c->dropped_by_origin.insert(frontier.begin(), frontier.end());
    c->unjoined[s].clear();
    frontier.clear();
  }
  for (const object_id n : behind) {
    if (std::ranges::find(frontier, n) == frontier.end()) frontier.push_back(n);
  }
  return CUDA_SUCCESS;
}

// Rule 9.11: a capture ends with its origin stream. Work that the stream added to another capture
// must still be joined.
void model::end_stream(object_id s) {
  if (capture_state* const c = capture_of(s); c != nullptr && c->origin == s) close(*c, false);
  stream(s).is_alive = false;
  stream(s).capture = -1;
}

}  // namespace weir::graphs
