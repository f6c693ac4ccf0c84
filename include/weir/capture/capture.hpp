// weir/capture/capture.hpp - recording the operations of streams into a graph, instead of running
// them.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/export.hpp>
#include <weir/graph/graph.hpp>
#include <weir/stream/stream.hpp>

#include <type_traits>
#include <utility>
#include <vector>

namespace weir {

// From the first call to the last the operations of a stream become nodes of a graph. None of them
// runs: data are what they were until the graph is launched. A stream that waits for an event of a
// stream that captures joins its capture, and has to be waited for, directly or through others, by
// the stream that began it before the end.
//
// What a driver would punish by dropping the capture, weir refuses before the driver sees it, so
// that the capture lives on: syncs, polls, launches of graphs and what else the page
// docs/guide/capture.md lists. Where a capture does break, by a call directly through the driver or
// one that is only known to be wrong when it is made, its end says which call it was.

// Which calls, that might disturb a capture, the driver refuses, and to whom; weir's own calls are
// made so that they disturb none, and are refused in no mode. The numbers are the driver's.
enum class capture_mode : unsigned {
  global =
      0,  // to the capturing thread, and to all others that are not in a relaxed capture themselves
  own_thread = 1,  // to the capturing thread
  relaxed =
      2,  // to none. Only then the capture may end in another thread than the one that began it
};

// Where a stream stands.
enum class capture_status : unsigned {
  none = 0,
  active = 1,
  invalidated = 2,  // a call broke the capture; it has to be ended all the same
};

struct capture_options {
  capture_mode mode = capture_mode::own_thread;
  // What to do about streams that joined and were not waited for: an error that names them
  // (stream_capture_unjoined), or, if true, the stream that began it waits for all of them at the
  // end.
  bool join_forks = false;
};

class capture_scope;

namespace detail {

template <class Body>
concept capture_body = std::is_invocable_v<Body, capture_scope&> || std::is_invocable_v<Body>;

// Begins a capture for a scope. If it is not finished it is ended, and what it made destroyed.
class WEIR_EXPORT scoped_capture {
 public:
  scoped_capture(stream_ref stream, capture_options options, call_site at);
  scoped_capture(const scoped_capture&) = delete;
  scoped_capture& operator=(const scoped_capture&) = delete;
  ~scoped_capture();
  [[nodiscard]] graph finish();
  [[nodiscard]] stream_ref stream() const noexcept { return stream_; }
  [[nodiscard]] graph_ref in_progress() const noexcept { return graph_; }

 private:
  stream_ref stream_;
  graph_ref graph_;
  unsigned long long id_ = 0;
  call_site at_;
  bool open_ = true;
};

}  // namespace detail

// What the body of capture() is given: the stream that captures, and the graph in the making. It
// stays where it is: on the thread of the body, and no longer than that.
class capture_scope {
 public:
  capture_scope(stream_ref stream, graph_ref in_progress) noexcept
      : stream_{stream}, graph_{in_progress} {}
  capture_scope(const capture_scope&) = delete;
  capture_scope& operator=(const capture_scope&) = delete;

  [[nodiscard]] stream_ref stream() const noexcept { return stream_; }
  operator stream_ref() const noexcept { return stream(); }

  // What has been recorded so far. Nodes may be added to it, none removed; it is instantiated after
  // the end.
  [[nodiscard]] graph_ref graph() const noexcept { return graph_; }

  // Keeps the owner for as long as the graph, whatever is made of it, or a launch needs it:
  // graph_ref::keep().
  template <class Owner>
  void keep(Owner&& owner, call_site at = call_site::current()) const {
    graph().keep(std::forward<Owner>(owner), at);
  }

 private:
  stream_ref stream_;
  graph_ref graph_;
};

namespace detail {

template <capture_body Body>
void run_capture_body(Body&& body, stream_ref stream, graph_ref in_progress) {
  if constexpr (std::is_invocable_v<Body, capture_scope&>) {
    capture_scope scope{stream, in_progress};
    static_cast<void>(std::forward<Body>(body)(scope));
  } else {
    static_cast<void>(std::forward<Body>(body)());
  }
}

}  // namespace detail

// Runs body(scope), or body(), and gives the graph of what the stream, and those that joined it,
// were given meanwhile. The capture ends with the call, on the stream and the thread that it began
// on, however the call ends: what the body throws comes out, and what it had recorded is gone; else
// what broke the capture (stream_capture_invalidated, with the first call that did, its line, the
// mode and the thread), or which streams were not joined (stream_capture_unjoined). The streams are
// ordinary again in any case. Work already queued in the stream goes on and is not part of the
// graph. Refused, with nothing begun: the legacy stream (stream_capture_unsupported), a stream that
// captures already (illegal_state), whose capture lives on. In a host function: refused
// (not_permitted). Thread safety: different streams from different threads. cuStreamBeginCapture,
// cuStreamGetCaptureInfo, cuStreamEndCapture.
template <detail::capture_body Body>
[[nodiscard]] graph capture(stream_ref stream, Body&& body, capture_options options = {},
                            call_site at = call_site::current()) {
  detail::scoped_capture running{stream, options, at};
  detail::run_capture_body(std::forward<Body>(body), running.stream(), running.in_progress());
  return running.finish();
}

// The same by hand, for where a capture does not fit a block. Prefer capture(): what is begun here
// and not ended keeps the stream capturing, and weir's deferred destruction waiting. Refusals as
// above. cuStreamBeginCapture, cuStreamGetCaptureInfo.
WEIR_EXPORT void begin_capture(stream_ref stream, capture_options options = {},
                               call_site at = call_site::current());

// Ends it and gives the graph. Refused, with the capture living on: another stream than the one
// that began it (stream_capture_unmatched if it joined, illegal_state if it does not capture),
// another thread unless the capture is relaxed (stream_capture_wrong_thread), and a capture that a
// capture() above or end_capture_to() has to end (illegal_state). Else it is over after this call,
// also if this throws. A capture that was started directly through the driver may be ended so, too,
// if its graph is nobody's yet; the driver's own answer stands then. In a host function: refused.
// cuStreamEndCapture.
[[nodiscard]] WEIR_EXPORT graph end_capture(stream_ref stream, call_site at = call_site::current());

// Where the stream stands. Breaks no capture. Of the legacy stream, while a blocking stream
// captures: stream_capture_implicit, which is an error. cuStreamIsCapturing.
[[nodiscard]] WEIR_EXPORT capture_status capture_status_of(stream_ref stream,
                                                           call_site at = call_site::current());

// A node that the next operation of a stream will depend on.
struct capture_dependency {
  graph_node node;
  edge_data data;
};

// What a stream takes part in. Id and graph are of the capture, the same in all of its streams; the
// graph is the capture's, and only good while status is active.
struct capture_info {
  capture_status status = capture_status::none;
  unsigned long long id = 0;  // unique in the process, also over time; 0 unless active
  graph_ref graph{nullptr};
  std::vector<capture_dependency> frontier;  // in no particular order
};

// Breaks no capture. Drivers before 12.3 do not tell the edges' data; where one is not zero they
// answer lossy_query. cuStreamGetCaptureInfo.
[[nodiscard]] WEIR_EXPORT capture_info capture_info_of(stream_ref stream,
                                                       call_site at = call_site::current());

// The calling thread's own mode, until the end of the block: what captures of others mean to its
// calls. A new thread is in global mode; one that only makes calls which harm no capture (an
// allocator, a logger) says so with `relaxed`. At the end the thread has again what it had. For
// calls directly through the driver: weir's own are made safe without it. Ends on the thread that
// began it; blocks nest. cuThreadExchangeStreamCaptureMode.
class WEIR_EXPORT thread_capture_mode {
 public:
  [[nodiscard]] explicit thread_capture_mode(capture_mode mode,
                                             call_site at = call_site::current());
  thread_capture_mode(const thread_capture_mode&) = delete;
  thread_capture_mode& operator=(const thread_capture_mode&) = delete;
  ~thread_capture_mode();

  // What the thread had before.
  [[nodiscard]] capture_mode previous() const noexcept { return previous_; }

 private:
  capture_mode previous_;
};

}  // namespace weir
