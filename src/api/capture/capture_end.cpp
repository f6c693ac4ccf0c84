// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_end.cpp - ends captures and explains why they were invalidated.
#include "api/capture/capture_end.hpp"

#include "api/capture/capture_abandon.hpp"
#include "api/capture/capture_joins.hpp"
#include "api/capture/capture_registry.hpp"
#include "api/capture/driver_frontier.hpp"
#include "api/core/first_failure.hpp"
#include "api/graph/conditional_bodies.hpp"
#include "api/graph/graph_checks.hpp"
#include "api/graph/graph_metadata.hpp"
#include "api/graph/graph_parts.hpp"
#include "api/graph/node_calls.hpp"
#include "api/memory/captured_memory.hpp"
#include "api/stream/host_failures.hpp"

#include <weir/core/to_string.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace weir::detail {
namespace {

constexpr const char* end_call = "cuStreamEndCapture";

std::string names_of(const std::vector<CUstream>& streams) {
  std::string names;
  for (const CUstream stream : streams)
    names += (names.empty() ? "" : ", ") + to_string(stream_ref{stream});
  return names;
}

// Names the streams that were not joined before the end.
std::string to_text(const active_capture& capture, const std::vector<CUstream>& unjoined) {
  return fmt::format(
      "{} ended before {} rejoined it; wait for them in {} before the end, or set "
      "capture_options::join_forks",
      to_text(capture),
      unjoined.empty() ? "streams that joined directly through the driver" : names_of(unjoined),
      to_string(stream_ref{capture.origin}));
}

// Explains why the end of the capture failed. The record has left the registry.
std::string explain(errc code, const capture_record& record,
                    const std::vector<CUstream>& unjoined) {
  std::string text = to_text(record.capture);
  switch (code) {
    case errc::stream_capture_invalidated: {
      std::vector<CUstream> joined;
      for (const joined_stream& s : record.joined) joined.push_back(s.stream);
      return fmt::format("{} was {}{} and has ended; fix that call and capture again", text,
                         to_text(record.invalidation),
                         joined.empty() ? "" : " (joined: " + names_of(joined) + ")");
    }
    case errc::stream_capture_unjoined: return to_text(record.capture, unjoined);
    case errc::illegal_state:
      return text + " was ended directly through the driver; end it through weir";
    default: return text;
  }
}

// Restores the borrowed graph, which still exists, and throws.
[[noreturn, gnu::cold]] void abandon_and_fail(errc code, stream_ref stream,
                                              const active_capture& capture, std::string reason,
                                              bool& is_destroyed, call_site at) {
  is_destroyed = abandon_capture(stream, capture.id);
  throw_error(code, end_call, to_string(stream), std::move(reason), at);
}

ended_capture end_and_unregister(stream_ref stream, const active_capture& capture,
                                 const std::vector<CUstream>& unjoined, bool& is_destroyed,
                                 call_site at) {
  capture_registry::instance().begin_end(capture.id);
  const driver_end_result end = end_in_driver(stream.get());
  std::unique_ptr<capture_record> record = capture_registry::instance().remove(capture.id);
  const CUgraph ownerless_graph = record != nullptr ? record->ownerless_graph : nullptr;
  if (end.answer == CUDA_SUCCESS) {
    note_captured_graph(capture.id, end.graph);
    record.reset();
    destroy_ownerless(ownerless_graph, nullptr);
    return {end.graph, capture.instantiate_context};
  }
  const CUgraph destroyed = discard_recorded(capture, record.get(), end.graph);
  // If the owner was destroyed as well, no caller needs the information.
  is_destroyed = destroyed != nullptr && ownerless_graph == nullptr;
  const errc code = static_cast<errc>(end.answer);
  std::string reason = record != nullptr ? explain(code, *record, unjoined) : to_text(capture);
  if (destroyed != nullptr)
    reason += "; the driver destroyed the graph that was captured into, so create a new one";
  record.reset();  // destroying the record may run work that was deferred until the end
  destroy_ownerless(ownerless_graph, destroyed);
  throw_error(code, end_call, to_string(stream), std::move(reason), at);
}

// Returns the capture with the id `scope` if it can end without a query, because weir has seen no
// stream join it.
std::optional<active_capture> find_unforked(unsigned long long scope, CUstream stream) {
  std::optional<active_capture> found;
  capture_registry::instance().for_each([&](const capture_record& record) {
    const active_capture& capture = record.capture;
    if (capture.id != scope || capture.options.join_forks || !record.joined.empty() ||
        !record.has_origin(stream))
      return;
    if (capture.options.mode == capture_mode::relaxed || capture.thread == unique_thread_id())
      found = capture;
  });
  return found;
}

// Returns the id of the capture that end_capture() or end_capture_to() would end in this stream on
// this thread, or 0 if there is no record of one.
unsigned long long find_endable(CUstream stream, bool borrowed) {
  unsigned long long found = 0;
  capture_registry::instance().for_each([&](const capture_record& record) {
    const active_capture& capture = record.capture;
    if (capture.scoped || capture.borrowed != borrowed || !record.has_origin(stream)) return;
    if (capture.options.mode == capture_mode::relaxed || capture.thread == unique_thread_id())
      found = capture.id;
  });
  return found;
}

std::string text_of_directly_ended(const active_capture& capture) {
  const char* const damage =
      capture.borrowed ? ", and its graph may be incomplete or destroyed" : "";
  return fmt::format("{} was ended directly through the driver{}; end it through weir",
                     to_text(capture), damage);
}

// Throws unless the capture is known and the caller may end it here. The capture stays valid.
void require_endable(const capture_snapshot& snapshot, stream_ref stream, unsigned long long scope,
                     bool borrowed, call_site at) {
  const active_capture& capture = snapshot.capture;
  if (capture.external) {
    throw_error(errc::illegal_state, end_call, to_string(stream),
                to_text(capture) + " stays valid; end it in the code that began it", at);
  }
  if (!snapshot.is_origin) {
    throw_error(errc::stream_capture_unmatched, end_call, to_string(stream),
                fmt::format("the stream joined {}, which stays valid; end the capture in {}",
                            to_text(capture), to_string(stream_ref{capture.origin})),
                at);
  }
  if (capture.scoped && scope != capture.id) {
    throw_error(
        errc::illegal_state, end_call, to_string(stream),
        fmt::format(
            "{} stays valid and ends when the weir::{}() that began it returns; remove this "
            "end",
            to_text(capture), capture.borrowed ? "capture_to" : "capture"),
        at);
  }
  if (snapshot.participant_count != 0 && scope != capture.id) {
    throw_error(
        errc::illegal_state, end_call, to_string(stream),
        fmt::format("{} stays valid and still has a capture_participant; destroy the participant "
                    "first",
                    to_text(capture)),
        at);
  }
  if (capture.borrowed != borrowed) {
    const char* const how = borrowed
                                ? "end it with end_capture(), which returns its graph"
                                : "end it with end_capture_to(), because it does not own its graph";
    throw_error(errc::illegal_state, end_call, to_string(stream),
                fmt::format("{} stays valid; {}", to_text(capture), how), at);
  }
  if (capture.options.mode != capture_mode::relaxed && capture.thread != unique_thread_id()) {
    throw_error(
        errc::stream_capture_wrong_thread, end_call, to_string(stream),
        to_text(capture) + " stays valid; end it in that thread, or capture in relaxed mode", at);
  }
}

// Throws if the capture recorded a node that a conditional body cannot hold.
void require_allowed_in_body(stream_ref stream, const active_capture& capture, bool& is_destroyed,
                             call_site at) {
  if (!capture.borrowed || !any_graph_metadata() || !is_in_body(capture.graph)) return;
  const graph_node not_allowed = find_not_allowed_in_body(capture.graph, at);
  if (!not_allowed) return;
  abandon_and_fail(
      errc::not_supported, stream, capture,
      fmt::format("{} recorded {}, which a body of a conditional node cannot contain, so the body "
                  "was restored; record that work outside the body",
                  to_text(capture), describe(not_allowed)),
      is_destroyed, at);
}

ended_capture end_stream_capture(stream_ref stream, unsigned long long scope, bool borrowed,
                                 bool& is_destroyed, call_site at) {
  const CUstream handle = require_open(stream, end_call, at);
  if (scope != 0 && !borrowed) {
    if (const auto unforked = find_unforked(scope, handle))
      return end_and_unregister(stream, *unforked, {}, is_destroyed, at);
  }
  stream_capture_info info;
  if (const CUresult answer = try_query_capture(handle, info); answer != CUDA_SUCCESS) {
    const unsigned long long endable = scope == 0 ? find_endable(handle, borrowed) : 0;
    if (endable != 0) is_destroyed = abandon_capture(stream, endable);
    check(answer, "cuStreamGetCaptureInfo", stream, at);
  }
  capture_snapshot snapshot = find_capture(handle, info);
  if (has_ended(scope, info.status, info.id)) {
    const auto stale =
        capture_registry::instance().remove(scope != 0 ? scope : snapshot.capture.id);
    throw_error(errc::illegal_state, end_call, to_string(stream),
                stale != nullptr ? text_of_directly_ended(stale->capture)
                                 : "the stream is not capturing; call begin_capture() first",
                at);
  }
  ended_capture ended;
  if (snapshot.capture.id == 0) {
    remove_ended_capture(handle, info);
    check(driver().cuStreamEndCapture(handle, &ended.graph), end_call, stream, at);
    note_captured_graph(info.id, ended.graph);
    return ended;
  }
  require_endable(snapshot, stream, scope, borrowed, at);
  std::vector<CUstream> unjoined;
  if (info.status == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    try {
      if (snapshot.capture.options.join_forks) join_leaves(handle, info.graph, at);
      if (!snapshot.capture.options.join_forks) unjoined = find_unjoined(snapshot.joined, info, at);
      require_allowed_in_body(stream, snapshot.capture, is_destroyed, at);
      if (borrowed && !unjoined.empty()) {
        abandon_and_fail(errc::stream_capture_unjoined, stream, snapshot.capture,
                         to_text(snapshot.capture, unjoined), is_destroyed, at);
      }
    } catch (...) {
      is_destroyed |= abandon_capture(stream, snapshot.capture.id);
      throw;
    }
  }
  return end_and_unregister(stream, snapshot.capture, unjoined, is_destroyed, at);
}

}  // namespace

ended_capture end_active_capture(stream_ref stream, unsigned long long scope, call_site at) {
  bool is_destroyed = false;
  return end_stream_capture(stream, scope, false, is_destroyed, at);
}

ended_capture end_borrowed_capture(stream_ref stream, unsigned long long scope, bool& is_destroyed,
                                   call_site at) {
  return end_stream_capture(stream, scope, true, is_destroyed, at);
}

}  // namespace weir::detail
