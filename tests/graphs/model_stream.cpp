// graphs/model_stream.cpp - work, events and questions, in streams that capture and in others (rules 4, 5, 9, 10).
#include "graphs/model.hpp"

#include <algorithm>
#include <array>

namespace weir::graphs {

// Work is refused by a broken capture before its arguments are looked at (10.7).
CUresult model::use_for_work(number s) {
  if (const CUresult refused = use(s); refused != CUDA_SUCCESS) return refused;
  const capture_state* const c = capture_of(s);
  return c == nullptr || c->valid ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

// A node behind what the stream has come to.
number model::capture_node(number s, node_kind kind, const work& what, number event) {
  capture_state& c = *capture_of(s);
  const number made = add_node(c.graph, kind, what, event, c.frontiers[s]);
  node(made).captured = true;
  c.frontiers[s] = {made};
  c.owed[s] = {made};
  return made;
}

// Something that runs: behind what is in the stream, and the legacy stream and the blocking ones behind each other (4.1).
history::vertex model::run(number s, const work& what, history::vertex also) {
  std::vector<history::vertex> before{stream(s).last, also};
  for (const stream_state& other : streams) {
    const bool blocks = other.kind == stream_kind::blocking || other.kind == stream_kind::per_thread;
    const bool waits = stream(s).kind == stream_kind::legacy
                           ? blocks && other.live
                           : stream(s).kind != stream_kind::non_blocking && other.kind == stream_kind::legacy;
    if (waits) before.push_back(other.last);
  }
  return stream(s).last = ran.add(what, before);
}

answer model::submit(number s, const work& what, number& made) {
  if (const CUresult refused = use_for_work(s); refused != CUDA_SUCCESS) return refused;
  constexpr std::array kinds{node_kind::empty, node_kind::host, node_kind::set, node_kind::copy};
  if (stream(s).capture >= 0)
    made = capture_node(s, kinds[static_cast<std::size_t>(what.what)], what, -1);
  else
    run(s, what);
  return CUDA_SUCCESS;
}

answer model::record(number e, number s, unsigned flags, number& made) {
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

answer model::wait(number s, number e, unsigned flags, number& made) {
  if (const CUresult refused = use_for_work(s); refused != CUDA_SUCCESS) return refused;
  if (flags > CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  capture_state* const mine = capture_of(s);
  capture_state* const theirs = event(e).capture < 0 ? nullptr : &capture(event(e).capture);
  const auto join = [&](number with) {
    stream(s).capture = with;
    capture_state& c = capture(with);
    std::vector<number>& frontier = c.frontiers[s];
    for (const number n : c.recorded[e]) {
      if (std::ranges::find(frontier, n) == frontier.end()) frontier.push_back(n);
      if (s == c.origin) continue;
      for (auto& [other, owed] : c.owed) {
        if (other != c.origin && other != s && owed.erase(n) != 0) c.owed[s].insert(n);
      }
    }
    return CUDA_SUCCESS;
  };
  if (mine != nullptr) {
    if (flags == CU_EVENT_WAIT_EXTERNAL) {
      made = capture_node(s, node_kind::wait, {}, e);
      return CUDA_SUCCESS;
    }
    if (theirs == mine) return join(event(e).capture);
    if (theirs == nullptr && !event(e).recorded) return CUDA_SUCCESS;  // it holds nothing (24.13)
    mine->valid = false;
    if (theirs == nullptr) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    if (!theirs->valid) return CUDA_ERROR_INVALID_VALUE;
    theirs->valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  if (theirs != nullptr && !theirs->valid) return CUDA_ERROR_INVALID_VALUE;
  if (flags != 0) return CUDA_ERROR_ILLEGAL_STATE;
  if (theirs == nullptr) {
    run(s, {}, event(e).at);
    return CUDA_SUCCESS;
  }
  if (stream(s).kind == stream_kind::legacy) {
    theirs->valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  return join(event(e).capture);
}

// The one bad argument that breaks a capture (24.14).
answer model::wait_for_no_event(number s) {
  if (const CUresult refused = use_for_work(s); refused != CUDA_SUCCESS) return refused;
  if (capture_state* const c = capture_of(s)) c->valid = false;
  return CUDA_ERROR_INVALID_HANDLE;
}

// Who prohibits it is broken by it, and goes on prohibiting until it ends (10.3, 10.4).
answer model::unsafe(unsigned thread) {
  bool any = false;
  for (capture_state& c : captures) {
    if (!c.open || c.mode == CU_STREAM_CAPTURE_MODE_RELAXED || modes[thread] == CU_STREAM_CAPTURE_MODE_RELAXED)
      continue;
    const bool both_global = c.mode == CU_STREAM_CAPTURE_MODE_GLOBAL && modes[thread] == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (c.thread != thread && !both_global) continue;
    c.valid = false;
    any = true;
  }
  return any ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

answer model::look_at_context() {
  bool any = false;
  for (capture_state& c : captures) {
    if (!c.open) continue;
    c.valid = false;
    any = true;
  }
  return any ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

answer model::ask_flags(number s) {
  if (const CUresult refused = use(s); refused != CUDA_SUCCESS) return refused;
  if (capture_state* const c = capture_of(s)) {
    c->valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return CUDA_SUCCESS;
}

answer model::look_at_stream(unsigned thread, number s) {
  const answer refused = ask_flags(s);
  return refused.code != CUDA_SUCCESS ? refused : unsafe(thread);
}

answer model::look_at_event(unsigned thread, number e) {
  if (event(e).capture >= 0) {
    capture_state& c = capture(event(e).capture);
    if (!c.valid) return CUDA_ERROR_INVALID_VALUE;
    c.valid = false;
    return CUDA_ERROR_CAPTURED_EVENT;
  }
  return unsafe(thread);
}

bool model::idle(number s) {
  if (stream(s).kind != stream_kind::legacy) return stream(s).last == history::none;
  return std::ranges::all_of(streams, [](const stream_state& other) {
    return other.kind == stream_kind::non_blocking || other.last == history::none;
  });
}

// All that was submitted has run.
void model::settled() {
  ran.clear();
  for (stream_state& s : streams) s.last = history::none;
  for (exec_state& x : execs) x.last = history::none;
  for (event_state& e : events) {
    e.at = history::none;
    e.may_be_pending = false;
  }
}

}  // namespace weir::graphs
