// api/capture/capture_end.cpp - captures ended, and why they broke.
#include "api/capture/capture_joins.hpp"
#include "api/capture/capture_registry.hpp"
#include "api/memory/captured_memory.hpp"
#include "api/graph/conditional_bodies.hpp"
#include "api/capture/driver_frontier.hpp"
#include "api/core/first_failure.hpp"
#include "api/graph/graph_book.hpp"
#include "api/graph/graph_parts.hpp"
#include "api/graph/graph_use.hpp"
#include "api/stream/host_failures.hpp"
#include "api/graph/node_calls.hpp"

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
  for (const CUstream stream : streams) names += (names.empty() ? "" : ", ") + to_string(stream_ref{stream});
  return names;
}

// Which streams it ends without.
std::string to_text(const open_capture& what, const std::vector<CUstream>& loose) {
  return fmt::format(
      "{} ends without {}, which joined it; wait for them in {} before the end, or set "
      "capture_options::join_forks",
      to_text(what), loose.empty() ? "streams that joined past weir" : names_of(loose),
      to_string(stream_ref{what.origin}));
}

// What the end of the capture failed with, in words. The record is gone from the registry.
std::string explain(errc code, const capture_record& record, const std::vector<CUstream>& loose) {
  std::string which = to_text(record.what);
  switch (code) {
    case errc::stream_capture_invalidated: {
      std::vector<CUstream> joined;
      for (const joined_stream& s : record.joined) joined.push_back(s.stream);
      return fmt::format("{} was {}{}; the streams are ordinary again", which, to_text(record.first),
                         joined.empty() ? "" : ", which " + names_of(joined) + " had joined");
    }
    case errc::stream_capture_unjoined: return to_text(record.what, loose);
    case errc::illegal_state: return which + " was ended past weir";
    default: return which;
  }
}

// The given graph, which is still there, is as it was before the capture.
[[noreturn, gnu::cold]] void fail_given(errc code, stream_ref stream, const open_capture& what, std::string why,
                                        bool& is_gone, call_site at) {
  is_gone = abandon_open_capture(stream, what.id);
  fail(code, end_call, to_string(stream), std::move(why), at);
}

ended_capture end_and_take(stream_ref stream, const open_capture& what, const std::vector<CUstream>& loose,
                           bool& is_gone, call_site at) {
  capture_registry::instance().begin_end(what.id);
  const driver_end end = end_in_driver(stream.get());
  std::unique_ptr<capture_record> record = capture_registry::instance().take(what.id);
  const CUgraph orphan = record != nullptr ? record->orphan : nullptr;
  if (end.answer == CUDA_SUCCESS) {
    note_captured_graph(what.id, end.graph);
    record.reset();
    destroy_orphan(orphan, nullptr);
    return {end.graph, what.home};
  }
  const CUgraph destroyed = give_up_recorded(what, record.get(), end.graph);
  is_gone = destroyed != nullptr && orphan == nullptr;  // else there is nobody to be told
  const errc code = static_cast<errc>(end.answer);
  std::string why = record != nullptr ? explain(code, *record, loose) : to_text(what);
  if (destroyed != nullptr) why += "; the driver has destroyed the graph that it was captured into";
  record.reset();  // what was put off until the end may be done
  destroy_orphan(orphan, destroyed);
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

// The id of what end_capture(), or end_capture_to(), of that stream would end here and now; 0 if weir knows of none.
unsigned long long find_endable(CUstream stream, bool given) {
  unsigned long long found = 0;
  capture_registry::instance().each([&](const capture_record& record) {
    const open_capture& what = record.what;
    if (what.scoped || what.given != given || !record.begun_in(stream)) return;
    if (what.options.mode == capture_mode::relaxed || what.thread == thread_number()) found = what.id;
  });
  return found;
}

std::string to_text_ended_past_weir(const open_capture& what) {
  return to_text(what) + " was ended past weir" +
         (what.given ? "; the graph has what that end left in it, if it is there" : "");
}

// Throws, with the capture living on, unless it is known and ends here and now.
void expect_ending(const known_capture& known, stream_ref stream, unsigned long long scope, bool given, call_site at) {
  const open_capture& what = known.what;
  if (what.entered) {
    fail(errc::illegal_state, end_call, to_string(stream), to_text(what) + " lives on; whoever began it ends it", at);
  }
  if (!known.begun_here) {
    fail(errc::stream_capture_unmatched, end_call, to_string(stream),
         fmt::format("it joined {}, which lives on; end that in {}", to_text(what), to_string(stream_ref{what.origin})),
         at);
  }
  if (what.scoped && scope != what.id) {
    fail(errc::illegal_state, end_call, to_string(stream),
         fmt::format("{} lives on and ends with the weir::{}() that began it", to_text(what),
                     what.given ? "capture_to" : "capture"),
         at);
  }
  if (known.entered != 0 && scope != what.id) {
    fail(errc::illegal_state, end_call, to_string(stream),
         fmt::format("{} lives on; an outer_capture takes part in it, and ends first", to_text(what)), at);
  }
  if (what.given != given) {
    const char* const how = given ? "end_capture() ends it, and gives its graph"
                                  : "end_capture_to() ends it, as its graph is somebody else's";
    fail(errc::illegal_state, end_call, to_string(stream), fmt::format("{} lives on; {}", to_text(what), how), at);
  }
  if (what.options.mode != capture_mode::relaxed && what.thread != thread_number()) {
    fail(errc::stream_capture_wrong_thread, end_call, to_string(stream),
         to_text(what) + " lives on; end it in that thread, or capture in relaxed mode", at);
  }
}

// Bodies of conditional nodes hold only some kinds of nodes.
void expect_fit_for_body(stream_ref stream, const open_capture& what, bool& is_gone, call_site at) {
  if (!what.given || !any_graph_noted() || !is_in_body(what.graph)) return;
  const graph_node unfit = find_unfit_for_body(what.graph, at);
  if (!unfit) return;
  fail_given(errc::not_supported, stream, what,
             fmt::format("{} has recorded {}, which cannot be in a body of a conditional node; that is as it was",
                         to_text(what), describe(unfit)),
             is_gone, at);
}

ended_capture end_known(stream_ref stream, unsigned long long scope, bool given, bool& is_gone, call_site at) {
  const CUstream handle = usable(stream, end_call, at);
  if (scope != 0 && !given) {
    if (const auto lone = find_lone(scope, handle)) return end_and_take(stream, *lone, {}, is_gone, at);
  }
  capture_part part;
  if (const CUresult answer = ask_capture(handle, part); answer != CUDA_SUCCESS) {
    const unsigned long long ours = scope == 0 ? find_endable(handle, given) : 0;
    if (ours != 0) is_gone = abandon_open_capture(stream, ours);
    check(answer, "cuStreamGetCaptureInfo", stream, at);
  }
  known_capture known = find_known(handle, part);
  if (has_ended(scope, part.status, part.id)) {
    const auto stale = capture_registry::instance().take(scope != 0 ? scope : known.what.id);
    fail(errc::illegal_state, end_call, to_string(stream),
         stale != nullptr ? to_text_ended_past_weir(stale->what) : "it does not capture; begin_capture() first", at);
  }
  ended_capture ended;
  if (known.what.id == 0) {
    forget_ended(handle, part);
    check(driver().cuStreamEndCapture(handle, &ended.graph), end_call, stream, at);
    note_captured_graph(part.id, ended.graph);
    return ended;
  }
  expect_ending(known, stream, scope, given, at);
  std::vector<CUstream> loose;
  if (part.status == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    try {
      if (known.what.options.join_forks) join_leaves(handle, part.graph, at);
      if (!known.what.options.join_forks) loose = find_loose(known.joined, part, at);
      expect_fit_for_body(stream, known.what, is_gone, at);
      if (given && !loose.empty()) {
        fail_given(errc::stream_capture_unjoined, stream, known.what, to_text(known.what, loose), is_gone, at);
      }
    } catch (...) {
      is_gone |= abandon_open_capture(stream, known.what.id);
      throw;
    }
  }
  return end_and_take(stream, known.what, loose, is_gone, at);
}

}  // namespace

ended_capture end_open_capture(stream_ref stream, unsigned long long scope, call_site at) {
  bool is_gone = false;
  return end_known(stream, scope, false, is_gone, at);
}

ended_capture end_given_capture(stream_ref stream, unsigned long long scope, bool& is_gone, call_site at) {
  return end_known(stream, scope, true, is_gone, at);
}

}  // namespace weir::detail
