// SPDX-License-Identifier: Apache-2.0
// graphs/model_stream.cpp - work, events and queries in streams, capturing or not (rules 4, 5, 9,
// 10).
#include "graphs/model.hpp"

#include <algorithm>
#include <array>

namespace weir::graphs {

// Rule 10.7: an invalidated capture refuses work before it checks the arguments.
CUresult model::use_for_work(object_id s) {
  if (const CUresult refused = use(s); refused != CUDA_SUCCESS) return refused;
  const capture_state* const c = capture_of(s);
  return c == nullptr || c->valid ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

// Adds a node behind the stream's frontier.
object_id model::capture_node(object_id s, node_kind kind, const work& what, object_id event) {
  capture_state& c = *capture_of(s);
  const object_id made = add_node(c.graph, kind, what, event, c.frontiers[s]);
  node(made).captured = true;
  c.frontiers[s] = {made};
  c.unjoined[s] = {made};
  return made;
}

// Rule 4.1: adds work that runs behind earlier work of its stream; the legacy stream and blocking
// streams are ordered with each other.
history::vertex model::run(object_id s, const work& what, history::vertex also) {
  std::vector<history::vertex> before{stream(s).last, also};
  for (const stream_state& other : streams) {
    const bool blocks =
        other.kind == stream_kind::blocking || other.kind == stream_kind::per_thread;
    const bool waits =
        stream(s).kind == stream_kind::legacy
            ? blocks && other.is_alive
            : stream(s).kind != stream_kind::non_blocking && other.kind == stream_kind::legacy;
    if (waits) before.push_back(other.last);
  }
  return stream(s).last = executed.add(what, before);
}

expected_result model::submit(object_id s, const work& what, object_id& made) {
  if (const CUresult refused = use_for_work(s); refused != CUDA_SUCCESS) return refused;
  constexpr std::array kinds{node_kind::empty, node_kind::host, node_kind::set, node_kind::copy};
  if (stream(s).capture >= 0)
    made = capture_node(s, kinds[static_cast<std::size_t>(what.what)], what, -1);
  else
    run(s, what);
  return CUDA_SUCCESS;
}

expected_result model::record(object_id e, object_id s, unsigned flags, object_id& made) {
  if (const CUresult refused = use_for_work(s); refused != CUDA_SUCCESS) return refused;
  if (flags > CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  if (capture_state* const c = capture_of(s)) {
    if (flags == CU_EVENT_RECORD_EXTERNAL) {
      made = capture_node(s, node_kind::record, {}, e);
      return CUDA_SUCCESS;
    }
    c->recorded[e] = c->frontiers[s];
    event(e).capture = stream(s).capture;
    return CUDA_SUCCESS;
  }
  if (flags != 0) return CUDA_ERROR_ILLEGAL_STATE;
  event(e).capture = -1;
  event(e).recorded = event(e).may_be_pending = true;
  event(e).at = run(s, {});
  return CUDA_SUCCESS;
}

expected_result model::wait(object_id s, object_id e, unsigned flags, object_id& made) {
  if (const CUresult refused = use_for_work(s); refused != CUDA_SUCCESS) return refused;
  if (flags > CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  capture_state* const own_capture = capture_of(s);
  capture_state* const event_capture = event(e).capture < 0 ? nullptr : &capture(event(e).capture);
  const auto join = [&](object_id with) {
    stream(s).capture = with;
    capture_state& c = capture(with);
    std::vector<object_id>& frontier = c.frontiers[s];
    for (const object_id n : c.recorded[e]) {
      if (std::ranges::find(frontier, n) == frontier.end()) frontier.push_back(n);
      if (s == c.origin) continue;
      for (auto& [other, unjoined] : c.unjoined) {
        if (other != c.origin && other != s && unjoined.erase(n) != 0) c.unjoined[s].insert(n);
      }
    }
    return CUDA_SUCCESS;
  };
  if (own_capture != nullptr) {
    if (flags == CU_EVENT_WAIT_EXTERNAL) {
      made = capture_node(s, node_kind::wait, {}, e);
      return CUDA_SUCCESS;
    }
    if (event_capture == own_capture) return join(event(e).capture);
    if (event_capture == nullptr && !event(e).recorded)
      return CUDA_SUCCESS;  // it captured nothing (24.13)
    own_capture->valid = false;
    if (event_capture == nullptr) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    if (!event_capture->valid) return CUDA_ERROR_INVALID_VALUE;
    event_capture->valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  if (event_capture != nullptr && !event_capture->valid) return CUDA_ERROR_INVALID_VALUE;
  if (flags != 0) return CUDA_ERROR_ILLEGAL_STATE;
  if (event_capture == nullptr) {
    run(s, {}, event(e).at);
    return CUDA_SUCCESS;
  }
  if (stream(s).kind == stream_kind::legacy) {
    event_capture->valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  return join(event(e).capture);
}

// Rule 24.14: the only invalid argument that invalidates a capture.
expected_result model::wait_for_no_event(object_id s) {
  if (const CUresult refused = use_for_work(s); refused != CUDA_SUCCESS) return refused;
  if (capture_state* const c = capture_of(s)) c->valid = false;
  return CUDA_ERROR_INVALID_HANDLE;
}

// Rules 10.3, 10.4: the call invalidates each capture that prohibits it, which continues to
// prohibit until it ends.
expected_result model::call_unsafe(unsigned thread) {
  bool any = false;
  for (capture_state& c : captures) {
    if (!c.open || c.mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
        modes[thread] == CU_STREAM_CAPTURE_MODE_RELAXED)
      continue;
    const bool both_global =
        c.mode == CU_STREAM_CAPTURE_MODE_GLOBAL && modes[thread] == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (c.thread != thread && !both_global) continue;
    c.valid = false;
    any = true;
  }
  return any ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

expected_result model::synchronize_context() {
  bool any = false;
  for (capture_state& c : captures) {
    if (!c.open) continue;
    c.valid = false;
    any = true;
  }
  return any ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

expected_result model::query_flags(object_id s) {
  if (const CUresult refused = use(s); refused != CUDA_SUCCESS) return refused;
  if (capture_state* const c = capture_of(s)) {
    c->valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return CUDA_SUCCESS;
}

expected_result model::query_stream(unsigned thread, object_id s) {
  const expected_result refused = query_flags(s);
  return refused.code != CUDA_SUCCESS ? refused : call_unsafe(thread);
}

expected_result model::query_event(unsigned thread, object_id e) {
  if (event(e).capture >= 0) {
    capture_state& c = capture(event(e).capture);
    if (!c.valid) return CUDA_ERROR_INVALID_VALUE;
    c.valid = false;
    return CUDA_ERROR_CAPTURED_EVENT;
  }
  return call_unsafe(thread);
}

bool model::idle(object_id s) {
  if (stream(s).kind != stream_kind::legacy) return stream(s).last == history::none;
  return std::ranges::all_of(streams, [](const stream_state& other) {
    return other.kind == stream_kind::non_blocking || other.last == history::none;
  });
}

// Marks all submitted work as complete.
void model::complete_all() {
  executed.clear();
  for (stream_state& s : streams) s.last = history::none;
  for (exec_state& x : execs) x.last = history::none;
  for (event_state& e : events) {
    e.at = history::none;
    e.may_be_pending = false;
  }
}

}  // namespace weir::graphs
