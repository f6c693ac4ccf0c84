// api/capture/capture_end.cpp - captures ended, and why they broke.
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

// Which streams it ends without.
std::string to_text(const active_capture& capture, const std::vector<CUstream>& unjoined) {
  return fmt::format(
      "{} ends without {}, which joined it; wait for them in {} before the end, or set "
      "capture_options::join_forks",
      to_text(capture),
      unjoined.empty() ? "streams that joined directly through the driver" : names_of(unjoined),
      to_string(stream_ref{capture.origin}));
}

// What the end of the capture failed with, in words. The record is gone from the registry.
std::string explain(errc code, const capture_record& record,
                    const std::vector<CUstream>& unjoined) {
  std::string text = to_text(record.capture);
  switch (code) {
    case errc::stream_capture_invalidated: {
      std::vector<CUstream> joined;
      for (const joined_stream& s : record.joined) joined.push_back(s.stream);
      return fmt::format("{} was {}{}; the streams are ordinary again", text,
                         to_text(record.invalidation),
                         joined.empty() ? "" : ", which " + names_of(joined) + " had joined");
    }
    case errc::stream_capture_unjoined: return to_text(record.capture, unjoined);
    case errc::illegal_state: return text + " was ended directly through the driver";
    default: return text;
  }
}

// The given graph, which is still there, is as it was before the capture.
[[noreturn, gnu::cold]] void abandon_and_fail(errc code, stream_ref stream,
                                              const active_capture& capture, std::string why,
                                              bool& is_destroyed, call_site at) {
  is_destroyed = abandon_capture(stream, capture.id);
  throw_error(code, end_call, to_string(stream), std::move(why), at);
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
  is_destroyed =
      destroyed != nullptr && ownerless_graph == nullptr;  // else there is nobody to be told
  const errc code = static_cast<errc>(end.answer);
  std::string why = record != nullptr ? explain(code, *record, unjoined) : to_text(capture);
  if (destroyed != nullptr) why += "; the driver has destroyed the graph that it was captured into";
  record.reset();  // what was put off until the end may be done
  destroy_ownerless(ownerless_graph, destroyed);
  throw_error(code, end_call, to_string(stream), std::move(why), at);
}

// The capture of that scope, if nothing has to be asked before its end because weir has seen no
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

// The id of what end_capture(), or end_capture_to(), of that stream would end here and now; 0 if
// weir knows of none.
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
  return to_text(capture) + " was ended directly through the driver" +
         (capture.borrowed ? "; the graph has what that end left in it, if it is there" : "");
}

// Throws, with the capture living on, unless it is known and ends here and now.
void require_endable(const capture_snapshot& snapshot, stream_ref stream, unsigned long long scope,
                     bool borrowed, call_site at) {
  const active_capture& capture = snapshot.capture;
  if (capture.external) {
    throw_error(errc::illegal_state, end_call, to_string(stream),
                to_text(capture) + " lives on; whoever began it ends it", at);
  }
  if (!snapshot.is_origin) {
    throw_error(errc::stream_capture_unmatched, end_call, to_string(stream),
                fmt::format("it joined {}, which lives on; end that in {}", to_text(capture),
                            to_string(stream_ref{capture.origin})),
                at);
  }
  if (capture.scoped && scope != capture.id) {
    throw_error(errc::illegal_state, end_call, to_string(stream),
                fmt::format("{} lives on and ends with the weir::{}() that began it",
                            to_text(capture), capture.borrowed ? "capture_to" : "capture"),
                at);
  }
  if (snapshot.participant_count != 0 && scope != capture.id) {
    throw_error(errc::illegal_state, end_call, to_string(stream),
                fmt::format("{} lives on; a capture_participant takes part in it, and ends first",
                            to_text(capture)),
                at);
  }
  if (capture.borrowed != borrowed) {
    const char* const how = borrowed ? "end_capture() ends it, and gives its graph"
                                     : "end_capture_to() ends it, as its graph is somebody else's";
    throw_error(errc::illegal_state, end_call, to_string(stream),
                fmt::format("{} lives on; {}", to_text(capture), how), at);
  }
  if (capture.options.mode != capture_mode::relaxed && capture.thread != unique_thread_id()) {
    throw_error(errc::stream_capture_wrong_thread, end_call, to_string(stream),
                to_text(capture) + " lives on; end it in that thread, or capture in relaxed mode",
                at);
  }
}

// Bodies of conditional nodes hold only some kinds of nodes.
void require_allowed_in_body(stream_ref stream, const active_capture& capture, bool& is_destroyed,
                             call_site at) {
  if (!capture.borrowed || !any_graph_metadata() || !is_in_body(capture.graph)) return;
  const graph_node not_allowed = find_not_allowed_in_body(capture.graph, at);
  if (!not_allowed) return;
  abandon_and_fail(
      errc::not_supported, stream, capture,
      fmt::format(
          "{} has recorded {}, which cannot be in a body of a conditional node; that is as it was",
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
                                 : "it does not capture; begin_capture() first",
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
