// api/captures.cpp - captures begun and ended, and why they broke.
#include "api/captures.hpp"

#include "api/capture_joins.hpp"
#include "api/capture_registry.hpp"
#include "api/graph_book.hpp"
#include "api/host_failures.hpp"

#include <weir/to_string.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace weir::detail {
namespace {

constexpr const char* begin_call = "cuStreamBeginCapture";
constexpr const char* end_call = "cuStreamEndCapture";

// What weir knows of the capture that the stream takes part in, or took part in before it broke; an id of 0 if nothing.
struct known_capture {
  open_capture what;
  bool begun_here = false;
  std::vector<joined_stream> joined;
};
known_capture find_known(CUstream stream, const capture_part& part) {
  known_capture known;
  const bool active = part.status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
  capture_registry::instance().each([&](const capture_record& record) {
    // A broken one has no id. Of those that the stream was in all but the last have ended.
    const bool it = active ? record.what.id == part.id : record.has(stream);
    if (it) known = {record.what, record.begun_in(stream), record.joined};
  });
  return known;
}

// Ends it in the driver, whatever it takes: an end that fails without ending it is made once more.
CUresult end_in_driver(CUstream stream, CUgraph& graph) noexcept {
  const CUresult answer = driver().cuStreamEndCapture(stream, &graph);
  if (answer == CUDA_SUCCESS) return answer;
  graph = nullptr;  // destroyed by the driver with the capture
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (driver().cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE) {
    CUgraph left = nullptr;
    if (driver().cuStreamEndCapture(stream, &left) == CUDA_SUCCESS && left != nullptr) {
      check_unraised(driver().cuGraphDestroy(left), "cuGraphDestroy", subject::graph(left));
    }
  }
  return answer;
}

std::string names_of(const std::vector<CUstream>& streams) {
  std::string names;
  for (const CUstream stream : streams) names += (names.empty() ? "" : ", ") + to_string(stream_ref{stream});
  return names;
}

// What the end of the capture failed with, in words. The record is gone from the registry.
std::string explain(errc code, const capture_record& record, const loose_streams& loose) {
  std::string which = to_text(record.what);
  switch (code) {
    case errc::stream_capture_invalidated: {
      std::vector<CUstream> joined;
      for (const joined_stream& s : record.joined) joined.push_back(s.stream);
      return fmt::format("{} was {}{}; the streams are ordinary again", which, to_text(record.first),
                         joined.empty() ? "" : ", which " + names_of(joined) + " had joined");
    }
    case errc::stream_capture_unjoined:
      return fmt::format(
          "{} ends without {}{}, which joined it; wait for them in {} before the end, or set "
          "capture_options::join_forks",
          which, loose.each ? "" : "one or more of ",
          loose.streams.empty() ? "streams that joined past weir" : names_of(loose.streams),
          to_string(stream_ref{record.what.origin}));
    case errc::illegal_state: return which + " was ended past weir";
    default: return which;
  }
}

[[noreturn, gnu::cold]] void fail_to_begin(CUstream stream, CUresult answer, call_site at) {
  if (const capture_part now = capture_part_of(stream, at); now.status != CU_STREAM_CAPTURE_STATUS_NONE) {
    const known_capture known = find_known(stream, now);
    fail(errc::illegal_state, begin_call, to_string(stream_ref{stream}),
         fmt::format("it takes part in {} already, which lives on",
                     known.what.id != 0 ? to_text(known.what) : "a capture that was begun past weir"),
         at);
  }
  fail(static_cast<errc>(answer), begin_call, stream_ref{stream}, at);
}

ended_capture end_and_take(stream_ref stream, const open_capture& what, const loose_streams& loose, call_site at) {
  ended_capture ended;
  capture_registry::instance().begin_end(what.id);
  const CUresult answer = end_in_driver(stream.get(), ended.graph);
  std::unique_ptr<capture_record> record = capture_registry::instance().take(what.id);
  ended.context = what.context;
  if (answer == CUDA_SUCCESS) return ended;
  const errc code = static_cast<errc>(answer);
  std::string why = record != nullptr ? explain(code, *record, loose) : to_text(what);
  record.reset();  // what was put off until the end may be done
  fail(code, end_call, to_string(stream), std::move(why), at);
}

// The capture of that scope, if nothing has to be asked before its end because weir has seen no stream join it.
std::optional<open_capture> find_lone(unsigned long long scope, CUstream stream) {
  std::optional<open_capture> found;
  capture_registry::instance().each([&](const capture_record& record) {
    const open_capture& what = record.what;
    if (what.id != scope || what.options.join_forks || !record.joined.empty() || !record.begun_in(stream)) return;
    if (what.options.mode == capture_mode::relaxed || what.thread == thread_number()) found = what;
  });
  return found;
}

}  // namespace

bool drop_ended_captures() noexcept {
  const auto by_hand = [](const capture_record& record) { return !record.what.scoped; };
  const auto has_ended = [](const capture_record& record) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    return ask_which_capture(record.what.origin, status, id) == CUDA_SUCCESS &&
           (status == CU_STREAM_CAPTURE_STATUS_NONE ||
            (status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id != record.what.id));
  };
  try {
    return capture_registry::instance().ask_each(by_hand, has_ended, [](const capture_record&, bool e) { return e; }) !=
           0;
  } catch (const std::bad_alloc&) {
    return false;  // the next one to ask will see
  }
}

open_capture begin_open_capture(stream_ref stream, capture_options options, bool scoped, call_site at) {
  const CUstream handle = usable(stream, begin_call, at);
  if (is_legacy(handle)) {
    fail(errc::stream_capture_unsupported, begin_call, to_string(stream),
         "the legacy default stream cannot be captured; capture a stream of your own, or stream_ref::per_thread()", at);
  }
  if (!is_one(options.mode))
    fail(errc::invalid_value, begin_call, to_string(stream), "the mode is none of capture_mode", at);
  if (captures_open()) static_cast<void>(drop_ended_captures());
  auto record = std::make_unique<capture_record>(handle);
  capture_registry::instance().reserve();
  open_capture& what = record->what;
  what.origin = handle;
  what.context = context_of(handle, at);
  what.options = options;
  what.scoped = scoped;
  what.began = at;
  what.thread = thread_number();
  what.thread_id = thread_id();
  // A stream that captures already answers with an error, and its capture lives on: asking first would only cost.
  if (const CUresult answer = driver().cuStreamBeginCapture_v2(handle, static_cast<CUstreamCaptureMode>(options.mode));
      answer != CUDA_SUCCESS) {
    fail_to_begin(handle, answer, at);
  }
  capture_part part;
  if (const CUresult answer = ask_capture(handle, part); answer != CUDA_SUCCESS) {
    CUgraph graph = nullptr;
    if (end_in_driver(handle, graph) == CUDA_SUCCESS && graph != nullptr) {
      check_unraised(driver().cuGraphDestroy(graph), "cuGraphDestroy", subject::graph(graph));
    }
    check(answer, "cuStreamGetCaptureInfo", stream, at);
  }
  what.id = part.id;
  what.graph = part.graph;
  forget_graph(part.graph);
  const open_capture begun = what;
  capture_registry::instance().add(std::move(record));
  return begun;
}

ended_capture end_open_capture(stream_ref stream, unsigned long long scope, call_site at) {
  const CUstream handle = usable(stream, end_call, at);
  if (scope != 0) {
    if (const auto lone = find_lone(scope, handle)) return end_and_take(stream, *lone, {}, at);
  }
  const capture_part part = capture_part_of(handle, at);
  known_capture known = find_known(handle, part);
  if (part.status == CU_STREAM_CAPTURE_STATUS_NONE) {
    const auto stale = capture_registry::instance().take(scope != 0 ? scope : known.what.id);
    fail(
        errc::illegal_state, end_call, to_string(stream),
        stale != nullptr ? to_text(stale->what) + " was ended past weir" : "it does not capture; begin_capture() first",
        at);
  }
  ended_capture ended;
  if (known.what.id == 0) {
    forget_ended(handle, part);
    check(driver().cuStreamEndCapture(handle, &ended.graph), end_call, stream, at);
    return ended;
  }
  if (!known.begun_here) {
    fail(errc::stream_capture_unmatched, end_call, to_string(stream),
         fmt::format("it joined {}, which lives on; end that in {}", to_text(known.what),
                     to_string(stream_ref{known.what.origin})),
         at);
  }
  if (known.what.scoped && scope != known.what.id) {
    fail(errc::illegal_state, end_call, to_string(stream),
         to_text(known.what) + " lives on and ends with the weir::capture() that began it", at);
  }
  if (known.what.options.mode != capture_mode::relaxed && known.what.thread != thread_number()) {
    fail(errc::stream_capture_wrong_thread, end_call, to_string(stream),
         to_text(known.what) + " lives on; end it in that thread, or capture in relaxed mode", at);
  }
  loose_streams loose;
  if (part.status == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    try {
      if (known.what.options.join_forks) join_leaves(handle, part, known.joined, at);
      if (!known.what.options.join_forks) loose = find_loose(known.joined, part, at);
    } catch (...) {
      abandon_open_capture(stream, known.what.id);
      throw;
    }
  }
  return end_and_take(stream, known.what, loose, at);
}

void abandon_open_capture(stream_ref stream, unsigned long long scope) noexcept {
  if (in_forked_child()) return;
  const auto ending = capture_registry::instance().take(scope);
  if (ending == nullptr) return;  // it has ended
  CUgraph graph = nullptr;
  const CUresult answer = end_in_driver(stream.get(), graph);
  switch (answer) {
    case CUDA_SUCCESS:
      if (graph != nullptr) check_unraised(driver().cuGraphDestroy(graph), "cuGraphDestroy", subject::graph(graph));
      return;
    // What the body left behind when it threw is no failure of its own.
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
    case CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
    case CUDA_ERROR_ILLEGAL_STATE: return;
    default: report_unraised(static_cast<errc>(answer), end_call, stream);
  }
}

}  // namespace weir::detail
